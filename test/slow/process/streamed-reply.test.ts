/**
 * A worker is killed with SIGKILL in the middle of a streamed reply: readers over HTTP, over server-sent events and at the
 * command line drop its text, and see that of the next worker, which becomes the reply.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type LiveItem, connect } from "../../../src/client/index.ts";
import { HALTING_MODEL } from "../../support/agents/halting-model.ts";
import {
  LONG_TIMEOUTS,
  createCliFolder,
  freePort,
  runCairnJson,
  spawnCairn,
  waitForOutput,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

/** Each process says another text, word by word, and leaves its ID. It halts in the middle. */
const TALKER = `${HALTING_MODEL}
import { writeFileSync } from "node:fs";
import { defineAgent, scriptedModel } from "cairn-run";
import { z } from "zod";

const words = Array.from({ length: 60 }, (_, index) => "word" + index).join(" ");

export const talker = defineAgent({
  name: "talker", version: "1", instructions: "", task: z.object({}), tools: {},
  model: halting(scriptedModel({
    name: "m",
    reply: () => {
      writeFileSync("pid", String(process.pid));
      return { text: "process " + process.pid + " says " + words };
    },
  }), "word30"),
});`;

/** What a person sees: the open text, with what became of it. */
class Joined {
  open = "";
  /** Whether each reply began with the text that was open. */
  isBegun = true;
  readonly lost: string[] = [];
  readonly whys: string[] = [];
  readonly replies: string[] = [];
  readonly cursors: string[] = [];

  take(item: LiveItem): void {
    this.cursors.push(item.cursor);
    if (item.kind === "delta") this.open += item.delta.parts.map(({ text }) => text).join("");
    if (item.kind === "reset") {
      this.whys.push(item.reset.why);
      this.lost.push(this.open);
      this.open = "";
    }
    if (item.kind !== "event" || item.event.kind !== "ModelCallCompleted") return;
    const reply = item.event.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
    this.isBegun &&= reply.startsWith(this.open);
    this.replies.push(reply);
    this.open = "";
  }
}

test("a worker is killed in the middle of a streamed reply", async () => {
  const at = createCliFolder(LONG_TIMEOUTS);
  writeFileSync(join(at.dir, "talker.ts"), TALKER);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./talker.ts"] };\n');
  const run = String((await runCairnJson(at, ["start", "talker", "--key", "k"]))["run"]);
  // It is attached before the first call leaves.
  const watching = spawnCairn(at, ["watch", run]);
  await waitForOutput(watching, "no process works on it");
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  await waitForOutput(spawnCairn(at, ["serve", "--port", String(port), "--workers", "1"]), url);

  const events = fetch(`${url}/runs/${run}/events?deltas=true`, { headers: { accept: "text/event-stream" } });
  let messages = "";
  const streamed = events.then(async ({ body }) => {
    for await (const piece of body ?? []) messages += new TextDecoder().decode(piece);
  });
  const client = await connect({ api: url });
  const shown = new Joined();
  const followed = (async () => {
    for await (const item of client.follow(run)) shown.take(item);
  })();
  await waitUntil(() => expect(shown.open).toMatch(/word\d/));
  await waitUntil(() => expect(messages).toContain("event: delta"));
  const pid = Number(readFileSync(join(at.dir, "pid"), "utf8"));
  await waitForOutput(watching, `… process ${pid} says`);
  expect(shown.open).toContain(`process ${pid} says `);
  const before = shown.cursors.at(-1) ?? "";
  process.kill(pid, "SIGKILL");
  // The next process goes on once its text is seen everywhere.
  await waitUntil(() => expect(shown).toMatchObject({ whys: ["takeover"], open: expect.stringMatching(/word\d/) }));
  const next = readFileSync(join(at.dir, "pid"), "utf8");
  await waitUntil(() => expect(messages).toContain("event: reset"));
  await waitForOutput(watching, `… process ${next} says`);
  writeFileSync(join(at.dir, "go"), "");
  await followed;

  expect(Number(next)).not.toBe(pid);
  expect(shown).toMatchObject({ isBegun: true, whys: ["takeover"], lost: [expect.stringContaining(String(pid))] });
  expect(shown.replies).toEqual([expect.stringMatching(new RegExp(`^process ${next} says word0 .* word59$`))]);
  expect(await client.get(run)).toMatchObject({ status: "completed", takeovers: 1 });

  // A reader that was away since the middle of the first text, and comes back when all is over.
  const late = new Joined();
  for await (const item of client.follow(run, { cursor: before })) late.take(item);
  expect(late).toMatchObject({ open: "", replies: shown.replies });
  expect(late.whys).toEqual(["takeover"]);

  await streamed;
  expect(messages).toMatch(/^id: 0\.1\.\d+\nevent: delta$/m);
  expect(messages.match(/^event: reset$/gm)).toHaveLength(1);
  const { out } = await watching.ended;
  expect(out).toContain(`… process ${pid} says`);
  expect(out).toContain("… lost: its process ended in the middle of the reply");
  expect(out).toContain(`… process ${next} says`);
});
