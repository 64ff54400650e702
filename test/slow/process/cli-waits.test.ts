/** A run that waits for a human and an event, in real processes: killed while it waits, and answered after that. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { childrenOf, supervisorOf } from "../../../src/adapters/local/store/processes.ts";
import {
  askCairnJson,
  askCairn,
  type CliFolder,
  createCliFolder,
  parseJsonLines,
  runCairn,
  runCairnJson,
  spawnCairn,
} from "../../support/processes/cli-process.ts";
import { waitUntil } from "../../support/gate/safety.ts";

const BOOKKEEPER = `
import { askHuman, defineAgent, scriptedModel, waitFor } from "cairn-run";
import { z } from "zod";

const REPLIES = [
  { calls: [{ tool: "askAccountant", args: { question: "Which account?" } }] },
  { calls: [{ tool: "awaitPayment", args: {} }] },
];

export const bookkeeper = defineAgent({
  name: "bookkeeper",
  version: "1",
  instructions: "",
  task: z.object({}),
  model: scriptedModel({ name: "m", reply: ({ calls }) => REPLIES[calls.length] ?? { text: "booked" } }),
  tools: {
    askAccountant: askHuman({ answer: z.object({ account: z.string().regex(/^[0-9]{4}$/) }), timeLimit: "2d" }),
    awaitPayment: waitFor({ event: "paid", detail: z.object({ euros: z.number() }), timeLimit: "7d" }),
  },
  result: ({ calls }) => calls.map(({ result }) => result),
});
`;

/** Who works on the store: nobody has to, while a run waits. */
function workersOf({ store: dir }: CliFolder): { readonly supervisor: unknown; readonly children: readonly unknown[] } {
  const store = openStore({ dir, create: false });
  try {
    return { supervisor: supervisorOf(store), children: childrenOf(store).all() };
  } finally {
    store.close();
  }
}

test("a question outlives kill -9 of every process; an answer, then an event, let the run complete", async () => {
  const at = createCliFolder();
  writeFileSync(join(at.dir, "bookkeeper.ts"), BOOKKEEPER);
  writeFileSync(join(at.dir, "cairn.config.ts"), 'export const config = { agents: ["./bookkeeper.ts"] };\n');
  const first = spawnCairn(at, ["work"]);
  const { exit, out } = await runCairn(at, ["start", "bookkeeper", "--input", "{}", "--key", "k", "--wait"]);
  expect(exit).toBe(4);
  const run = /local-[a-z2-7]{26}/.exec(out)?.[0] ?? "";
  expect(out).toContain(`npx cairn answer ${run} c1 --result JSON --store ${at.store}`);

  first.child.kill("SIGKILL");
  await first.ended;
  expect(await askCairnJson(at, ["show", run])).toMatchObject({ status: "waiting", wakeAt: expect.any(Number) });
  const open = parseJsonLines((await askCairn(at, ["approvals", "--json"])).out);
  expect(open).toMatchObject([{ run, call: "c1", args: { question: "Which account?" }, answered: false }]);

  const wrong = await runCairn(at, ["answer", run, "c1", "--result", '{"account":"no"}']);
  expect(wrong).toMatchObject({ exit: 2, err: expect.stringContaining("AnswerInvalid") });
  expect(wrong.err).toContain("account: Invalid string");
  const answered = await runCairnJson(at, ["answer", run, "c1", "--result", '{"account":"4711"}']);
  expect(answered).toMatchObject({ run, call: "c1", accepted: true });
  const again = await runCairn(at, ["answer", run, "c1", "--result", '{"account":"0815"}']);
  expect(again).toMatchObject({ exit: 4, err: expect.stringContaining('answered {"account":"4711"}') });

  const second = spawnCairn(at, ["work"]);
  await waitUntil(async () => {
    expect(await askCairnJson(at, ["show", run])).toMatchObject({ waits: [{ call: "c2", event: "paid" }] });
  });
  second.child.kill("SIGTERM");
  await second.ended;
  expect(workersOf(at)).toEqual({ supervisor: null, children: [] });

  const signal = ["signal", run, "paid", "--detail", '{"euros":12}', "--key", "p1"];
  expect(await runCairnJson(at, signal)).toMatchObject({ event: "paid", delivered: true });
  expect(await runCairnJson(at, signal)).toMatchObject({ event: "paid", delivered: false });
  const third = await runCairn(at, ["start", "bookkeeper", "--input", "{}", "--key", "k", "--wait"]);
  expect(third.exit).toBe(0);
  expect(await askCairnJson(at, ["show", run])).toMatchObject({
    status: "completed",
    result: [{ account: "4711" }, { event: "paid", detail: { euros: 12 } }],
  });
  const ledger = parseJsonLines((await askCairn(at, ["ledger", run, "--json"])).out);
  expect(JSON.stringify(ledger)).toMatch(/answered.*signalled it/);
  const verified = await askCairn(at, ["verify", run]);
  expect(verified.exit).toBe(0);
});
