/** Afterthought's HTTP interface: a conversation that ends becomes a memory. */

export { Afterthought, type Options } from "./client.js";
export { ApiError, ConnectionFailed } from "./errors.js";
export type { ServerSentEvent } from "./events.js";
export type { RetryPolicy } from "./retries.js";
export type { components, operations, paths } from "./schema.js";
