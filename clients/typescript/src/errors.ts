/** The service refused a call. `code` never changes; `message` says what happened and what to do. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

/** The service could not be reached, or did not answer, as often as it was tried. */
export class ConnectionFailed extends Error {
  override readonly name = "ConnectionFailed";
}

/** Return the error that a refused call ends in; also of what a proxy answers in the place of the service. */
export async function errorOf(response: Response): Promise<ApiError> {
  const told = (await response.json().catch(() => undefined))?.error;
  if (typeof told?.code === "string" && typeof told.message === "string") {
    return new ApiError(response.status, told.code, told.message, told.details ?? {});
  }
  const message = `The server answered ${response.status} ${response.statusText}`;
  return new ApiError(response.status, `http_${response.status}`, message);
}
