import { type ApiError, ConnectionFailed, errorOf } from "./errors.js";

const TRIED_AGAIN = new Set([429, 503]);

/** How often a call is tried again: after a lost connection, and where the service says to come back later. */
export interface RetryPolicy {
  retries: number;
  firstWaitSeconds: number;
  /** A service that asks for more patience than this is not waited for. */
  longestWaitSeconds: number;
}

export const USUAL: RetryPolicy = { retries: 4, firstWaitSeconds: 0.25, longestWaitSeconds: 30 };

/** Return how long to wait after so many failures in a row; undefined to give up. */
function waitSeconds(policy: RetryPolicy, failures: number, response?: Response): number | undefined {
  if (failures > policy.retries || (response !== undefined && !TRIED_AGAIN.has(response.status))) {
    return undefined;
  }
  // Half of it by chance, so that many clients do not come back at the same moment.
  const grown = policy.firstWaitSeconds * 2 ** (failures - 1) * (0.5 + Math.random() / 2);
  const asked = response?.headers.get("retry-after") ?? "";
  const wait = Math.max(Math.min(grown, policy.longestWaitSeconds), /^\d+$/.test(asked) ? Number(asked) : 0);
  return wait <= policy.longestWaitSeconds ? wait : undefined;
}

/** Counts the failures in a row of one call or stream. */
export class Patience {
  #failures = 0;

  constructor(
    private readonly policy: RetryPolicy,
    private readonly url: string,
  ) {}

  /** Note that the service answered. */
  reset(): void {
    this.#failures = 0;
  }

  /** Wait before the next try. Throws ApiError or ConnectionFailed where there is none, and what a caller's signal says. */
  async after(failure: unknown, signal?: AbortSignal | null): Promise<void> {
    signal?.throwIfAborted();
    this.#failures += 1;
    const response = failure instanceof Response ? failure : undefined;
    const wait = waitSeconds(this.policy, this.#failures, response);
    if (wait === undefined) {
      throw response === undefined ? this.#failed(failure) : await errorOf(response);
    }
    await response?.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  }

  #failed(cause: unknown): ApiError | ConnectionFailed {
    const tries = this.#failures > 1 ? `${this.#failures} tries` : "1 try";
    return new ConnectionFailed(`${this.url} did not answer in ${tries}; does it run?`, { cause });
  }
}
