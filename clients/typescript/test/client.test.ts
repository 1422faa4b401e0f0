/** The client against a running service; `tests/outside/test_typescript_client.py` starts both, and breaks things. */

import assert from "node:assert/strict";
import { inspect } from "node:util";
import { test } from "node:test";
import { Afterthought, ApiError, ConnectionFailed, type Options, type ServerSentEvent } from "../src/index.js";

const { ADMIN_TOKEN = "", PROXY_URL = "", CONTROL_URL = "" } = process.env;
const PATIENT = { retries: 60, longestWaitSeconds: 1 };
const SAID = [
  { role: "user" as const, content: "I moved to Lisbon in May and started to restore an old sailing boat." },
  { role: "assistant" as const, content: "Lisbon suits you." },
];
const admin = new Afterthought({ token: ADMIN_TOKEN });

/** Install an app, and return its name and a client with its own token. */
async function app(appId: string, options: Options = {}): Promise<{ appId: string; token: string; memory: Afterthought }> {
  await admin.post("/apps", { body: { appId, name: appId, answeredBy: "app" } });
  const { token } = await admin.post("/apps/{appId}/tokens", { params: { path: { appId } }, body: { label: "test" } });
  assert.ok(token);
  return { appId, token, memory: new Afterthought({ token, ...options }) };
}

/** Have the other side break something. */
async function control(what: string): Promise<unknown> {
  const answer = await fetch(`${CONTROL_URL}/${what}`, { method: "POST" });
  assert.ok(answer.ok);
  return answer.json();
}

async function write(memory: Afterthought, appId: string, content: string, key?: string): Promise<number> {
  const header = key === undefined ? {} : { header: { "idempotency-key": key } };
  const params = { path: { appId }, ...header };
  return (await memory.post("/apps/{appId}/memories", { params, body: { content } })).id;
}

async function contents(memory: Afterthought, appId: string): Promise<string[]> {
  const { memories } = await memory.get("/apps/{appId}/memories", { params: { path: { appId } } });
  return memories.map((one) => one.content);
}

async function refusal(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(() => assert.fail("it was not refused"), (error: unknown) => error);
  assert.ok(error instanceof ApiError, inspect(error));
  return error;
}

async function next(events: AsyncGenerator<ServerSentEvent>): Promise<ServerSentEvent> {
  const { value, done } = await events.next();
  assert.ok(!done);
  return value;
}

test("a conversation becomes a memory", async () => {
  const { appId, memory } = await app("ts-memory");
  const path = { appId };
  const { conversationId } = await memory.post("/apps/{appId}/conversations", {
    params: { path },
    body: { userId: "ada", metadata: { from: "a test" } },
  });
  const inIt = { path: { appId, conversationId } };
  await memory.post("/apps/{appId}/conversations/{conversationId}/messages", { params: inIt, body: { messages: SAID } });
  const { jobs } = await memory.post("/apps/{appId}/conversations/{conversationId}/end", { params: inIt });
  assert.equal(jobs[0]?.kind, "create_memory");
  const events = memory.follow(appId, { after: 0, kinds: "memory.created" });
  const told = (await next(events)).data.content;
  await events.return(undefined);
  const query = { userId: "ada" };
  const { memories } = await memory.get("/apps/{appId}/memories", { params: { path, query } });
  assert.deepEqual(memories.map((one) => one.content), [told]);
  assert.match(told ?? "", /Lisbon/);
  const body = { userId: "ada", message: "Where do I live?" };
  const context = await memory.post("/apps/{appId}/context", { params: { path }, body });
  assert.ok(context.systemPrompt.includes(told ?? "?"));
  assert.equal(context.messages.at(-1)?.["content"], "Where do I live?");
});

test("a refusal is an error with its code", async () => {
  const { appId, memory } = await app("ts-refusals");
  const again = await refusal(admin.post("/apps", { body: { appId, name: "again" } }));
  assert.deepEqual([again.code, again.status], ["already_installed", 409]);
  const params = { path: { appId, memoryId: 12345 } };
  const absent = await refusal(memory.get("/apps/{appId}/memories/{memoryId}", { params }));
  assert.equal(absent.code, "not_found");
  assert.match(absent.message, /12345/);
  const wrong = await refusal(write(memory, appId, ""));
  assert.equal((wrong.details["fields"] as { field: string }[])[0]?.field, "content");
  const stranger = await refusal(contents(new Afterthought({ token: "not-a-token" }), appId));
  assert.equal(stranger.status, 401);
});

test("an app's token opens its app and no other", async () => {
  const { appId, memory } = await app("ts-own");
  const { appId: other } = await app("ts-other");
  await write(admin, other, "The other's secret.");
  await write(memory, appId, "Our own.");
  assert.deepEqual(await contents(memory, appId), ["Our own."]);
  assert.equal((await refusal(contents(memory, other))).status, 403);
  assert.equal((await refusal(memory.get("/apps"))).status, 403);
  assert.equal((await refusal(next(memory.follow(other)))).status, 403);
  for (const conversationId of [`../../${other}/memories`, "..", "."]) {
    const params = { path: { appId, conversationId } };
    const call = memory.get("/apps/{appId}/conversations/{conversationId}", { params });
    assert.ok([404, 422].includes((await refusal(call)).status));
  }
});

test("a write whose answer was lost is done once", async () => {
  const { appId, memory, token } = await app("ts-once");
  const broken = new Afterthought({ url: PROXY_URL, token });
  await control("lose/2");
  await write(broken, appId, "Ada flies kites.");
  assert.deepEqual(await control("lost"), 2);
  assert.deepEqual(await contents(memory, appId), ["Ada flies kites."]);
});

test("two calls are two writes unless they have one key", async () => {
  const { appId, memory } = await app("ts-keys");
  const ids = [];
  for (const key of [undefined, undefined, "mine", "mine"]) {
    ids.push(await write(memory, appId, "The same.", key));
  }
  assert.equal(new Set(ids).size, 3);
  assert.equal(ids[2], ids[3]);
});

test("nobody there is said after so many tries, and the token is not", async () => {
  const nobody = new Afterthought({ url: "http://127.0.0.1:9", token: "secret-token", retry: { retries: 1 } });
  const error = await contents(nobody, "chat").then(() => undefined, (error: unknown) => error);
  assert.ok(error instanceof ConnectionFailed);
  assert.match(error.message, /did not answer in 2 tries/);
  assert.ok(!inspect([error, nobody], { depth: 9, showHidden: true }).includes("secret-token"));
});

test("a token that cannot be sent, and an address with a password, are refused without being shown", () => {
  for (const options of [{ token: "" }, { token: "secret token" }, { token: "x", url: "http://secret:token@host" }]) {
    assert.throws(() => new Afterthought(options), (error: Error) => !error.message.includes("secret"));
  }
});

test("a caller can stop waiting", async () => {
  const { appId, memory } = await app("ts-abort");
  const params = { path: { appId }, query: { wait: 30 } };
  const began = Date.now();
  await assert.rejects(memory.get("/apps/{appId}/events", { params, signal: AbortSignal.timeout(200) }), /abort/i);
  assert.ok(Date.now() - began < 20_000);
});

test("a stream goes on where it broke off", async () => {
  const { appId, memory, token } = await app("ts-stream");
  const events = new Afterthought({ url: PROXY_URL, token, retry: PATIENT }).follow(appId, { after: 0 });
  await write(memory, appId, "First.");
  await write(memory, appId, "Second.");
  const told = [(await next(events)).data.content, (await next(events)).data.content];
  await control("break");
  await write(memory, appId, "Third.");
  told.push((await next(events)).data.content);
  await events.return(undefined);
  assert.deepEqual(told, ["First.", "Second.", "Third."]);
});

test("calls and streams outlive a killed loop", async () => {
  const { appId, memory } = await app("ts-killed", { retry: PATIENT });
  const events = memory.follow(appId, { after: 0, kinds: "memory.created" });
  await write(memory, appId, "Before.");
  const told = [(await next(events)).data.content];
  await control("kill");
  await write(memory, appId, "After.");
  told.push((await next(events)).data.content);
  await events.return(undefined);
  assert.deepEqual(told, ["Before.", "After."]);
  assert.deepEqual(await contents(memory, appId), ["After.", "Before."]);
});
