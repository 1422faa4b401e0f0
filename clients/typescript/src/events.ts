import { createParser } from "eventsource-parser";
import type { components } from "./schema.js";

/** Something that happened. One of kind `gap` says that older ones are not kept any more. */
export interface ServerSentEvent {
  kind: string;
  data: components["schemas"]["EventPayload"];
  /** What to resume after (`after: Number(event.id)`); `gap` and `energy` have none. */
  id: string | undefined;
}

/** Yield the events of an open stream. Throws where the connection breaks, or is silent for too long. */
export async function* eventsOf(body: ReadableStream<Uint8Array>, silence: () => void): AsyncGenerator<ServerSentEvent> {
  const ready: ServerSentEvent[] = [];
  const parser = createParser({
    onEvent: (event) => ready.push({ kind: event.event ?? "message", data: JSON.parse(event.data), id: event.id }),
  });
  const decoder = new TextDecoder();
  for await (const chunk of body as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    silence();
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* ready.splice(0);
  }
}
