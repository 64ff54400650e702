/** Words over HTTP: delivered once, never to a run that somebody only believes to know. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { transcript } from "../../src/operations/views.ts";
import { type ApiHarness, createApiHarness } from "../support/harness/api-harness.ts";
import { attemptBeat, drive, runnerOf } from "../support/harness/drive.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

async function begun(harness: ApiHarness): Promise<{ readonly run: string; readonly token: string }> {
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  return { run: String(body["run"]), token: String(body["resumeToken"]) };
}

const payloadOf = (harness: ApiHarness, run: string) => {
  const { born, chain, epoch, agent } = harness.row(run);
  return { run, born, chain, epoch, agent };
};

const say = (harness: ApiHarness, run: string, json: object, headers: Readonly<Record<string, string>> = {}) =>
  harness.ask({ path: `/runs/${run}/messages`, json, headers });

describe("a message", () => {
  test("is delivered to the run once, whichever caller sends it", async () => {
    const harness = createApiHarness();
    const { run } = await begun(harness);
    const { status, body } = await say(harness, run, { text: "take the train", id: "w1" });
    expect({ status, body }).toEqual({ status: 202, body: { run, message: "w1", delivered: true } });
    const again = await say(harness, run, { text: "take the train", id: "w1" });
    expect({ status: again.status, body: again.body }).toEqual({
      status: 200,
      body: { run, message: "w1", delivered: false },
    });
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    const heard = ((await transcript(harness.world, run)) ?? []).filter(({ source }) => source === "user:ann");
    expect(heard).toHaveLength(1);
    // Schedule 27: a late repetition is still a duplicate of an ended run, and a first message comes too late.
    expect((await say(harness, run, { text: "take the train", id: "w1" })).status).toBe(200);
    const late = await say(harness, run, { text: "take the train", id: "w2" });
    expect({ status: late.status, code: late.body["code"], run: late.body["run"] }).toEqual({
      status: 409,
      code: "Late",
      run,
    });
  });

  test("is refused when its ID belongs to another text, and the error says so", async () => {
    const harness = createApiHarness();
    const { run } = await begun(harness);
    expect((await say(harness, run, { text: "take the train", id: "w1" })).status).toBe(202);
    const other = await say(harness, run, { text: "take the plane", id: "w1" });
    expect({ status: other.status, code: other.body["code"], run: other.body["run"] }).toEqual({
      status: 409,
      code: "MessageConflict",
      run,
    });
    expect(String(other.body["detail"])).toContain("another id");
    expect(harness.row(run).wakeCount).toBe(1);
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    // Also where the first one was taken in, and its item is gone.
    expect((await say(harness, run, { text: "take the plane", id: "w1" })).status).toBe(409);
    expect((await say(harness, run, { text: "take the train", id: "w1" })).status).toBe(200);
  });

  test("takes its ID from the header or the body, but not from both", async () => {
    const harness = createApiHarness();
    const { run } = await begun(harness);
    const headers = { "Idempotency-Key": "w1" };
    expect((await say(harness, run, { text: "a" }, headers)).body).toMatchObject({ message: "w1", delivered: true });
    expect((await say(harness, run, { text: "a", id: "w1" }, headers)).status).toBe(200);
    const both = await say(harness, run, { text: "a", id: "w2" }, headers);
    expect({ status: both.status, code: both.body["code"] }).toMatchObject({ status: 409, code: "KeysDiffer" });
    expect(harness.row(run).wakeCount).toBe(1);
  });

  test("without an ID gets a fresh ID each time, which the response contains", async () => {
    const harness = createApiHarness();
    const { run } = await begun(harness);
    const ids = [await say(harness, run, { text: "a" }), await say(harness, run, { text: "a" })].map(
      ({ body }) => body["message"],
    );
    expect(new Set(ids).size).toBe(2);
    expect(harness.row(run).wakeCount).toBe(2);
  });

  test("is limited in bytes", async () => {
    const harness = createApiHarness();
    const { run } = await begun(harness);
    const letters = SIZES.messageBytesMax / 2;
    const tooLong = await say(harness, run, { text: "é".repeat(letters + 1) });
    expect({ status: tooLong.status, body: tooLong.body }).toMatchObject({
      status: 413,
      body: { code: "TooLarge", bytesMax: SIZES.messageBytesMax },
    });
    expect((await say(harness, run, { text: "é".repeat(letters) })).status).toBe(202);
  });

  test("is refused with a code when a newer version of cairn drives the run, and nothing is written", async () => {
    const harness = createApiHarness();
    const { run } = await begun(harness);
    harness.world.store.rows.set(run, rewriteRow(harness.row(run), { format: 99 }));
    const { status, body } = await say(harness, run, { text: "a" });
    expect({ status, code: body["code"] }).toEqual({ status: 503, code: "RowNewer" });
    expect(harness.row(run).wakeCount).toBe(0);
  });
});

describe("a resume token", () => {
  test("is valid while the run is under its epoch, with and without quotes", async () => {
    const harness = createApiHarness();
    const { run, token } = await begun(harness);
    for (const [index, value] of [token, `"${token}"`, `"other", "${token}"`, "*"].entries()) {
      const { status } = await say(harness, run, { text: "a", id: `w${index}` }, { "If-Match": value });
      expect(status, value).toBe(202);
    }
    const { headers } = await harness.ask({ path: `/runs/${run}` });
    expect((await say(harness, run, { text: "a" }, { "If-Match": headers.get("etag") ?? "" })).status).toBe(202);
  });

  test("of an older epoch is refused before any write, with the present token", async () => {
    const harness = createApiHarness({ effect: "unsafe", approval: "always" });
    const { run, token } = await begun(harness);
    await attemptBeat(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    const before = harness.row(run);
    const { status, body, headers } = await say(harness, run, { text: "a", id: "w1" }, { "If-Match": `"${token}"` });
    expect(status).toBe(412);
    expect(body).toMatchObject({ code: "Stale", run, epoch: before.epoch, resumeToken: expect.any(String) });
    expect(headers.get("etag")).toBe(`"${String(body["resumeToken"])}"`);
    expect(harness.row(run)).toEqual(before);
    const now = { "If-Match": String(body["resumeToken"]) };
    expect((await say(harness, run, { text: "a", id: "w1" }, now)).status).toBe(202);
    // What lies in the inbox moves the tag, and not the epoch.
    expect((await say(harness, run, { text: "b", id: "w2" }, now)).status).toBe(202);
  });

  test("of another run, of another incarnation, or with a forged value is refused", async () => {
    const harness = createApiHarness();
    const { run, token } = await begun(harness);
    const other = await begun(harness);
    const { born } = harness.row(run);
    const made = (...told: readonly unknown[]) => Buffer.from(JSON.stringify(told)).toString("base64url");
    const forged = [made(run, "bbbbbbbbbb", 0), made([run], born, 0), made(run, born, "0"), made({}), "~", "a,,b"];
    const deep = Buffer.from("[".repeat(5_000)).toString("base64url");
    for (const value of [other.token, ...forged, deep]) {
      expect((await say(harness, run, { text: "a" }, { "If-Match": value })).status, value).toBe(412);
    }
    expect((await say(harness, run, { text: "a" }, { "If-Match": token })).status).toBe(202);
  });

  test("of an ended run still lets the API report the end, or that the message was delivered", async () => {
    const harness = createApiHarness();
    const { run, token } = await begun(harness);
    await say(harness, run, { text: "a", id: "w1" });
    await drive(runnerOf(harness.world, harness.agent), payloadOf(harness, run));
    const headers = { "If-Match": token };
    expect((await say(harness, run, { text: "a", id: "w1" }, headers)).status).toBe(200);
    expect((await say(harness, run, { text: "a", id: "w2" }, headers)).status).toBe(409);
  });
});
