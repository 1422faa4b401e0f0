import createFetch, { type Client, type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { MediaType, PathsWithMethod, RequiredKeysOf } from "openapi-typescript-helpers";
import { eventsOf, type ServerSentEvent } from "./events.js";
import { Patience, type RetryPolicy, USUAL } from "./retries.js";
import type { operations, paths } from "./schema.js";

const DEFAULT_URL = "http://127.0.0.1:8700";
/** Above the longest wait of a long poll, and the heartbeat of a stream. */
const TIMEOUT_SECONDS = 90;

type Method = "get" | "put" | "post" | "delete" | "patch";
type Query = NonNullable<operations["followApp"]["parameters"]["query"]>;

/** A call of `/openapi.json`, by its path. Returns what the service answered; throws ApiError and ConnectionFailed. */
type Call<M extends Method> = <P extends PathsWithMethod<paths, M>, I extends MaybeOptionalInit<paths[P], M>>(
  path: P,
  ...init: RequiredKeysOf<I> extends never ? [I?] : [I]
) => Promise<NonNullable<FetchResponse<paths[P][M] & {}, I, MediaType>["data"]>>;

export interface Options {
  /** Of the service; else `AFTERTHOUGHT_URL`, else the one that `./ops/up` prints. */
  url?: string;
  /** Of the app, or the admin's; else `AFTERTHOUGHT_TOKEN`. */
  token?: string;
  retry?: Partial<RetryPolicy>;
  timeoutSeconds?: number;
}

/**
 * The service. Lost connections, 429 and 503 are tried again under one idempotency key made for the call, so that a
 * write whose answer was lost is not done twice.
 */
export class Afterthought {
  readonly url: string;
  readonly get: Call<"get">;
  readonly put: Call<"put">;
  readonly post: Call<"post">;
  readonly delete: Call<"delete">;
  readonly patch: Call<"patch">;
  readonly #client: Client<paths>;
  readonly #retry: RetryPolicy;
  readonly #timeout: number;

  constructor(options: Options = {}) {
    const environment = globalThis.process?.env ?? {};
    const url = new URL(options.url ?? environment["AFTERTHOUGHT_URL"] ?? DEFAULT_URL);
    if (url.username || url.password) {
      throw new TypeError("url: leave user and password out; the service takes a token");
    }
    const token = (options.token ?? environment["AFTERTHOUGHT_TOKEN"] ?? "").trim();
    // Refused here, because the error of fetch would show it.
    if (!/^[\x21-\x7e]+$/.test(token)) {
      throw new TypeError("token: give one, or set AFTERTHOUGHT_TOKEN; only printable ASCII without spaces can be sent");
    }
    this.url = url.href.replace(/\/+$/, "");
    this.#retry = { ...USUAL, ...options.retry };
    this.#timeout = (options.timeoutSeconds ?? TIMEOUT_SECONDS) * 1000;
    this.#client = createFetch<paths>({
      baseUrl: this.url,
      headers: { Authorization: `Bearer ${token}` },
      fetch: (request) => this.#send(request),
    });
    this.get = this.#call("GET");
    this.put = this.#call("PUT");
    this.post = this.#call("POST");
    this.delete = this.#call("DELETE");
    this.patch = this.#call("PATCH");
  }

  /**
   * Yield what happens in an app, as it happens, and go on after the last event where the connection breaks.
   * `after: 0` begins with the oldest that is kept.
   */
  async *follow(appId: string, query: Query = {}): AsyncGenerator<ServerSentEvent> {
    const patience = new Patience(this.#retry, this.url);
    let from: { query: Query; header?: { "last-event-id": string } } = { query };
    for (;;) {
      let failure: unknown = new Error("the stream ended");
      const watch = new AbortController();
      let timer = setTimeout(() => watch.abort(), this.#timeout);
      const silence = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => watch.abort(), this.#timeout);
        patience.reset();
      };
      try {
        const { response } = await this.#client.GET("/apps/{appId}/stream", {
          params: { path: { appId }, ...from },
          parseAs: "stream",
          // Refusals are for the patience of the whole stream, not of one call.
          fetch: (request) => fetch(request),
          signal: watch.signal,
        });
        if (response.ok && response.body) {
          for await (const event of eventsOf(response.body, silence)) {
            if (event.id !== undefined) {
              const { after: _, ...rest } = query;
              from = { query: rest, header: { "last-event-id": event.id } };
            }
            yield event;
          }
        } else {
          failure = response;
        }
      } catch (error) {
        if (error instanceof SyntaxError) {
          throw error; // What is no JSON is none the next time either.
        }
        failure = error;
      } finally {
        clearTimeout(timer);
        // Also where the caller has seen enough.
        watch.abort();
      }
      await patience.after(failure);
    }
  }

  #call<M extends Method>(method: Uppercase<M>): Call<M> {
    const send = this.#client[method] as (path: string, ...init: unknown[]) => Promise<{ data?: unknown }>;
    // What is no success was thrown, so there is always an answer.
    return (async (path: string, ...init: unknown[]) => (await send(path, ...init)).data) as unknown as Call<M>;
  }

  async #send(request: Request): Promise<Response> {
    if (request.method !== "GET" && !request.headers.has("idempotency-key")) {
      request.headers.set("idempotency-key", crypto.randomUUID());
    }
    const patience = new Patience(this.#retry, this.url);
    for (;;) {
      let failure: unknown;
      try {
        const signal = AbortSignal.any([request.signal, AbortSignal.timeout(this.#timeout)]);
        const response = await fetch(request.clone(), { signal });
        if (response.ok) {
          return response;
        }
        failure = response;
      } catch (error) {
        failure = error;
      }
      await patience.after(failure, request.signal);
    }
  }
}

