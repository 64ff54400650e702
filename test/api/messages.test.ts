/** Words over HTTP: delivered once, never to a run that somebody only believes to know. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { transcript } from "../../src/operations/views.ts";
import { type Desk, desk } from "../support/api.ts";
import { attempt, drive, runnerOf } from "../support/drive.ts";
import { rowOf } from "../support/stage.ts";
import { rewritten } from "../support/rewritten.ts";

async function begun(on: Desk): Promise<{ readonly run: string; readonly token: string }> {
  const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
  return { run: String(body["run"]), token: String(body["resumeToken"]) };
}

const payloadOf = (on: Desk, run: string) => {
  const { born, chain, epoch, agent } = rowOf(on, run);
  return { run, born, chain, epoch, agent };
};

const say = (on: Desk, run: string, json: object, headers: Readonly<Record<string, string>> = {}) =>
  on.ask({ path: `/runs/${run}/messages`, json, headers });

describe("a message", () => {
  test("is heard once by the run, from whoever asked", async () => {
    const on = desk();
    const { run } = await begun(on);
    const { status, body } = await say(on, run, { text: "take the train", id: "w1" });
    expect([status, body]).toEqual([202, { run, message: "w1", delivered: true }]);
    const again = await say(on, run, { text: "take the train", id: "w1" });
    expect([again.status, again.body]).toEqual([200, { run, message: "w1", delivered: false }]);
    await drive(runnerOf(on.world, on.agent), payloadOf(on, run));
    const heard = ((await transcript(on.world, run)) ?? []).filter(({ source }) => source === "user:ann");
    expect(heard).toHaveLength(1);
    // Schedule 27: a late repetition is still a duplicate of an ended run, and a first message comes too late.
    expect((await say(on, run, { text: "take the train", id: "w1" })).status).toBe(200);
    const late = await say(on, run, { text: "take the train", id: "w2" });
    expect([late.status, late.body["code"], late.body["run"]]).toEqual([409, "Late", run]);
  });

  test("with an id that belongs to other words is refused, and says so", async () => {
    const on = desk();
    const { run } = await begun(on);
    expect((await say(on, run, { text: "take the train", id: "w1" })).status).toBe(202);
    const other = await say(on, run, { text: "take the plane", id: "w1" });
    expect([other.status, other.body["code"], other.body["run"]]).toEqual([409, "MessageConflict", run]);
    expect(String(other.body["detail"])).toContain("another id");
    expect(rowOf(on, run).wakeCount).toBe(1);
    await drive(runnerOf(on.world, on.agent), payloadOf(on, run));
    // Also where the first one was taken in, and its item is gone.
    expect((await say(on, run, { text: "take the plane", id: "w1" })).status).toBe(409);
    expect((await say(on, run, { text: "take the train", id: "w1" })).status).toBe(200);
  });

  test("takes its id from the header as well, and not two of them", async () => {
    const on = desk();
    const { run } = await begun(on);
    const headers = { "Idempotency-Key": "w1" };
    expect((await say(on, run, { text: "a" }, headers)).body).toMatchObject({ message: "w1", delivered: true });
    expect((await say(on, run, { text: "a", id: "w1" }, headers)).status).toBe(200);
    const both = await say(on, run, { text: "a", id: "w2" }, headers);
    expect([both.status, both.body["errors"]]).toMatchObject([422, [{ pointer: "#/id" }]]);
    expect(rowOf(on, run).wakeCount).toBe(1);
  });

  test("without an id is one of its own each time, and is told its id", async () => {
    const on = desk();
    const { run } = await begun(on);
    const ids = [await say(on, run, { text: "a" }), await say(on, run, { text: "a" })].map(
      ({ body }) => body["message"],
    );
    expect(new Set(ids).size).toBe(2);
    expect(rowOf(on, run).wakeCount).toBe(2);
  });

  test("counts in bytes", async () => {
    const on = desk();
    const { run } = await begun(on);
    const letters = SIZES.messageBytesMax / 2;
    const tooLong = await say(on, run, { text: "é".repeat(letters + 1) });
    expect([tooLong.status, tooLong.body]).toMatchObject([413, { code: "TooLarge", bytesMax: SIZES.messageBytesMax }]);
    expect((await say(on, run, { text: "é".repeat(letters) })).status).toBe(202);
  });

  test("is refused by name when a newer version of cairn goes on with the run, and nothing is written", async () => {
    const on = desk();
    const { run } = await begun(on);
    on.world.store.rows.set(run, rewritten(rowOf(on, run), { format: 99 }));
    const { status, body } = await say(on, run, { text: "a" });
    expect([status, body["code"]]).toEqual([503, "RowNewer"]);
    expect(rowOf(on, run).wakeCount).toBe(0);
  });
});

describe("a resume token", () => {
  test("holds while the run is under its epoch, in quotes and without", async () => {
    const on = desk();
    const { run, token } = await begun(on);
    for (const [index, value] of [token, `"${token}"`, `"other", "${token}"`, "*"].entries()) {
      const { status } = await say(on, run, { text: "a", id: `w${index}` }, { "If-Match": value });
      expect(status, value).toBe(202);
    }
    const { headers } = await on.ask({ path: `/runs/${run}` });
    expect((await say(on, run, { text: "a" }, { "If-Match": headers.get("etag") ?? "" })).status).toBe(202);
  });

  test("of an older epoch is refused before anything is written, with the token of now", async () => {
    const on = desk({ effect: "unsafe", approval: "always" });
    const { run, token } = await begun(on);
    await attempt(runnerOf(on.world, on.agent), payloadOf(on, run));
    const before = rowOf(on, run);
    const { status, body, headers } = await say(on, run, { text: "a", id: "w1" }, { "If-Match": `"${token}"` });
    expect(status).toBe(412);
    expect(body).toMatchObject({ code: "Stale", run, epoch: before.epoch, resumeToken: expect.any(String) });
    expect(headers.get("etag")).toBe(`"${String(body["resumeToken"])}"`);
    expect(rowOf(on, run)).toEqual(before);
    const now = { "If-Match": String(body["resumeToken"]) };
    expect((await say(on, run, { text: "a", id: "w1" }, now)).status).toBe(202);
    // What lies in the inbox moves the tag, and not the epoch.
    expect((await say(on, run, { text: "b", id: "w2" }, now)).status).toBe(202);
  });

  test("of another run, of another incarnation, or of nobody's making is refused", async () => {
    const on = desk();
    const { run, token } = await begun(on);
    const other = await begun(on);
    const { born } = rowOf(on, run);
    const made = (...told: readonly unknown[]) => Buffer.from(JSON.stringify(told)).toString("base64url");
    const forged = [made(run, "bbbbbbbbbb", 0), made([run], born, 0), made(run, born, "0"), made({}), "~", "a,,b"];
    const deep = Buffer.from("[".repeat(5_000)).toString("base64url");
    for (const value of [other.token, ...forged, deep]) {
      expect((await say(on, run, { text: "a" }, { "If-Match": value })).status, value).toBe(412);
    }
    expect((await say(on, run, { text: "a" }, { "If-Match": token })).status).toBe(202);
  });

  test("of an ended run does not hide that it has ended, or that the message was heard", async () => {
    const on = desk();
    const { run, token } = await begun(on);
    await say(on, run, { text: "a", id: "w1" });
    await drive(runnerOf(on.world, on.agent), payloadOf(on, run));
    const headers = { "If-Match": token };
    expect((await say(on, run, { text: "a", id: "w1" }, headers)).status).toBe(200);
    expect((await say(on, run, { text: "a", id: "w2" }, headers)).status).toBe(409);
  });
});
