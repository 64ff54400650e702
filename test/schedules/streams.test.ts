/** Streamed replies against the deaths of their processes, commits, and broken connections. */
import { expect, test } from "vitest";
import { pollLive } from "../../src/operations/event-page.ts";
import { timeline } from "../../src/operations/views.ts";
import { ShownText, createStreamedRun } from "../support/runs/streamed-run.ts";

test("schedule 182: a process streams half a reply and dies; a reader drops it, and sees only the next invocation's", async () => {
  const it = await createStreamedRun();
  const shown = new ShownText();
  const dead = await it.beginToDie();
  dead.call.say("The half of a re");
  await it.second();
  await it.read(shown);
  expect(shown.open).toBe("The half of a ");
  dead.kill();
  const next = await it.begin();
  await it.read(shown);
  expect(shown).toMatchObject({ open: "", resets: ["takeover"], replies: [] });
  // A late write of the dead process, as a frozen one makes it.
  const { run, born } = it.harness.row(it.run);
  const late = { epoch: 1, version: 0, seq: 2, at: it.harness.clock.now() };
  await it.harness.world.deltas.append({ run, born }, { ...late, parts: [{ kind: "text", index: 0, text: "ghost" }] });
  next.call.say("Another reply, ");
  await it.second();
  await it.read(shown);
  expect(shown.open).toBe("Another reply, ");
  next.call.say("whole.");
  next.call.finish();
  await next.end();
  await it.harness.runUntilIdle(it.agent);
  await it.read(shown);
  expect(shown).toMatchObject({ open: "", resets: ["takeover"], replies: ["Another reply, whole."] });
  expect(it.harness.row(it.run)).toMatchObject({ status: "completed" });
});

test("schedule 183: the reply is committed while a page is read; no reader has the reply and its text beside it", async () => {
  for (const port of ["table", "deltas"] as const) {
    const it = await createStreamedRun();
    const shown = new ShownText();
    const { call, end } = await it.begin();
    call.say("A reply, ");
    await it.second();
    const { world } = it.harness;
    const finish = async (): Promise<void> => {
      call.say("whole.");
      call.finish();
      await end();
    };
    // The commit lands after the page has read the row, or after it has read the deltas.
    const read = world[port].read.bind(world[port]) as (...of: readonly unknown[]) => Promise<unknown>;
    let isFirst = true;
    const racing = async (...of: readonly unknown[]): Promise<unknown> => {
      const found = await read(...of);
      if (isFirst) {
        isFirst = false;
        await finish();
        // The next call has begun to say something.
        const { run, born, epoch, version } = it.harness.row(it.run);
        const next = { epoch, version, seq: 1, at: it.harness.clock.now() };
        await world.deltas.append({ run, born }, { ...next, parts: [{ kind: "text", index: 0, text: "The next" }] });
      }
      return found;
    };
    const mine = { ...world, [port]: { ...world[port], read: racing } };
    const page = await pollLive(mine, { run: it.run, cursor: { version: 0, step: null }, wait: 0, bytesMax: null });
    if (page === null) throw new Error("the run is gone");
    shown.apply(page);
    expect("A reply, whole.".startsWith(shown.open)).toBe(true);
    await it.read(shown);
    expect(shown).toMatchObject({ open: "", resets: [], replies: ["A reply, whole."] });
  }
});

test("schedule 184: a secret comes in two pieces; no delta has a part of it", async () => {
  const it = await createStreamedRun();
  const shown = new ShownText();
  const { call, end } = await it.begin();
  const key = ["sk-", "proj-ABCdef0123456789ABCdef"].join("");
  call.say(`The key is ${key.slice(0, 12)}`);
  await it.second();
  await it.read(shown);
  expect(shown.open).toBe("The key is ");
  call.say(`${key.slice(12)} and so on.\n`);
  await it.second();
  await it.read(shown);
  expect(shown.open).toBe("The key is [redacted api-key] and so on.\n");
  call.finish();
  await end();
  await it.read(shown);
  expect(shown.replies).toEqual(["The key is [redacted api-key] and so on.\n"]);
});

test("schedule 185: the connection breaks in the middle of a streamed reply; the call is debited, and made again", async () => {
  const it = await createStreamedRun();
  const shown = new ShownText();
  const broken = await it.begin();
  broken.call.say("Half a reply, ");
  await it.second();
  await it.read(shown);
  broken.call.breakOff();
  await broken.end();
  await it.read(shown);
  expect(shown).toMatchObject({ open: "", resets: ["noReply"], replies: [] });
  const again = await it.begin();
  again.call.say("All of it.");
  again.call.finish();
  await again.end();
  await it.harness.runUntilIdle(it.agent);
  await it.read(shown);
  expect(shown).toMatchObject({ open: "", replies: ["All of it."] });
  const events = (await timeline(it.harness.world, { run: it.run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
});
