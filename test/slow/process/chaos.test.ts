/**
 * `cairn chaos` with real processes and real kills, in small: cairn survives what plain loops do not, and whoever says
 * that a tool is keyed when it is not is found out. The seeds are ones whose kills fall right after an effect.
 */
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fitPrinted } from "../../support/processes/printed-json.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { nightTest, sampled } from "../../support/gate/stride.ts";
import { type CliFolder, runCairn, createCliFolder } from "../../support/processes/cli-process.ts";
import { EXAMPLES, TEMPLATES } from "../../support/processes/program.ts";

const INVOICE = join(EXAMPLES, "invoice", "agent.ts");
const TRAVEL = join(EXAMPLES, "travel", "agent.ts");
const ORDERS = join(TEMPLATES, "orders", "agents", "orders", "agent.ts");
const LATE = join(import.meta.dirname, "..", "..", "process", "fixtures", "late-service-agent.ts");
const LOST_HAND_OFF = join(import.meta.dirname, "..", "..", "process", "fixtures", "lost-hand-off.ts");
const THIRD_PARTY = join(import.meta.dirname, "..", "..", "process", "fixtures", "third-party-agent.ts");

/** No process meets the deadline of a beat on a loaded machine. What waits for a lease waits for as long. */
const PATIENT_BEATS = { CAIRN_BEAT_SECONDS: String((2 * LIMITS.shortBeatMs) / 1_000) };

/** A seed of which one kill falls into a call of the model, and two into calls of tools. */
const DURING = "346";

/** The document of a trial, and how the command ended. What it leaves is removed with its test. */
async function trial(of: CliFolder, ...words: readonly string[]) {
  const { exit, out } = await runCairn(of, ["chaos", ...words, "--json"]);
  fitPrinted(["chaos"], out);
  const document = JSON.parse(out) as { readonly dir?: string | null; readonly error?: { readonly dir?: string } };
  const dir = document.dir ?? document.error?.dir ?? null;
  onTestFinished(() => {
    if (dir !== null) rmSync(dir, { recursive: true, force: true });
  });
  return { exit, document, dir };
}

test("travel: cairn survives without a duplicate, act-then-save books twice, and an in-memory agent loses its state", async () => {
  const { exit, document } = await trial(createCliFolder(PATIENT_BEATS), TRAVEL, "--tasks", "3", "--seed", "1086");
  expect(document).toMatchObject({ agent: "travel", countedBy: "other side", ok: true, failures: [], dir: null });
  const twice = (tool: string, of: string) => expect.objectContaining({ tool, of, times: 1 });
  expect(document).toMatchObject({
    strategies: [
      { strategy: "in-process", killed: 3, survived: 0, duplicates: null, resumeMs: null },
      {
        ...{ strategy: "act-then-save", killed: 3, survived: 3, divergent: [] },
        duplicates: [twice("chargeCard", "Traveller 1"), twice("sendConfirmation", "Traveller 3")],
      },
      {
        ...{ strategy: "cairn", killed: 3, survived: 3, divergent: [], duplicates: [], missing: [] },
        work: { repliesMax: 1, callsMax: 1 },
      },
    ],
  });
  expect(exit).toBe(0);
});

/** Kills of the other topologies are those of `recovery-kills.test.ts` in the gate. */
const [OTHERS, TASKS] = sampled([["invoice"], 2], [["invoice", "event", "letter"], 5]);

test.each(OTHERS)(
  "%s: each of its tasks survives its kill with the same result and without a duplicate",
  async (name) => {
    const agent = join(EXAMPLES, name, "agent.ts");
    const words = [agent, "--tasks", String(TASKS), "--seed", "7"];
    const { exit, document } = await trial(createCliFolder(PATIENT_BEATS), ...words);
    expect(document).toMatchObject({
      ...{ agent: name, countedBy: "other side", ok: true, failures: [], leftOut: ["in-process", "act-then-save"] },
      strategies: [{ strategy: "cairn", tasks: TASKS, survived: TASKS, divergent: [], duplicates: [], missing: [] }],
    });
    expect(exit).toBe(0);
  },
);

test("a third party's agent: its unsafe call is answered, and the external service shows that its keys are not honoured", async () => {
  const here = createCliFolder(PATIENT_BEATS);
  copyFileSync(THIRD_PARTY, join(here.dir, "agent.ts"));
  const words = ["./agent.ts", "--tasks", "2", "--seed", "149", "--strategies", "cairn"];
  const forgetful = await trial({ ...here, env: { ...here.env, TICKETS_IGNORE_KEYS: "1" } }, ...words);
  expect(forgetful.document).toMatchObject({
    ok: false,
    strategies: [
      {
        ...{ killed: 2, survived: 2, answers: { approved: 0, confirmed: 1, repeated: 0 } },
        duplicates: [{ tool: "openTicket", of: "change-2", times: 1 }],
      },
    ],
    failures: [{ what: expect.stringContaining("duplicate effects of openTicket for change-2: 1") }],
    repeat: "npx cairn chaos ./agent.ts --tasks 2 --seed 149 --strategies cairn --keep",
  });
  expect(forgetful.exit).toBe(1);
  expect(existsSync(join(forgetful.dir ?? "", "cairn", "cairn.sqlite"))).toBe(true);
});

const HANDS_OFF = [`${LOST_HAND_OFF}#editor`, "--tasks", "2", "--seed", "1", "--strategies", "cairn"];

// In the gate `recovery-kills.test.ts` shows it.
nightTest("a hand-off that is lost after its effect has that effect once", async () => {
  const tried = await trial(createCliFolder(PATIENT_BEATS), ...HANDS_OFF);
  expect(tried.document).toMatchObject({
    ...{ ok: true, countedBy: "other side", failures: [] },
    strategies: [{ killed: 2, survived: 2, duplicates: [], missing: [] }],
  });
});

test("a task that is handed out again shows", async () => {
  // The uninterrupted task does the work twice, too, under another key and for other arguments.
  const again = await trial(createCliFolder({ ...PATIENT_BEATS, TESTS_AGAIN: "1" }), ...HANDS_OFF);
  expect(again.document).toMatchObject({
    ok: false,
    strategies: [
      {
        // In the order in which the workers ended.
        duplicates: expect.arrayContaining(
          ["Printer 1", "Printer 2"].map((printer) => expect.objectContaining({ tool: "test", of: printer, times: 1 })),
        ),
      },
    ],
  });
  expect(again.exit).toBe(1);
});

const HOUR_MS = 3_600_000;

/** That a true one is kept is what `late-effect.test.ts` shows, too. */
const [FALSE, TRUE] = [
  ["false", 200, HOUR_MS, 1, [{ tool: "sendParcel", of: "customer-2", times: 1 }]],
  ["true", 4_000, 3_500, 0, []],
] as const;

test.each(sampled<readonly (typeof FALSE | typeof TRUE)[]>([FALSE], [FALSE, TRUE]))(
  "a settle time that is %s is tried against a service that acts late",
  async (_, settle, lands, exit, duplicates) => {
    const here = createCliFolder(PATIENT_BEATS);
    const seconds = LIMITS.shortBeatMs / 1_000;
    const words = [LATE, "--tasks", "4", "--seed", "1", "--beat-seconds", String(seconds), "--strategies", "cairn"];
    const service = { SETTLE_MS: settle, LANDS_MS: lands, TOOL_MS: Math.floor(LIMITS.shortBeatMs / 3) };
    const told = Object.entries(service).map(([name, value]) => [name, String(value)]);
    const tried = await trial({ ...here, env: { ...here.env, ...Object.fromEntries(told) } }, ...words);
    expect(tried.document).toMatchObject({ strategies: [{ killed: 4, survived: 4, divergent: [], duplicates }] });
    expect(tried.exit).toBe(exit);
  },
);

test("the template orders: its database shows one reservation, payment and parcel for each order", async () => {
  const { exit, document } = await trial(
    createCliFolder(PATIENT_BEATS),
    ORDERS,
    "--tasks",
    "4",
    "--strategies",
    "cairn",
  );
  expect(document).toMatchObject({
    ...{ countedBy: "other side", notDuring: ["takePayment"], failures: [] },
    strategies: [{ killed: 4, survived: 4, divergent: [], duplicates: [], missing: [], answers: { approved: 2 } }],
  });
  expect(exit).toBe(0);
});

test("a process that is killed during a call of the model or a tool loses that call, and its run nothing else", async () => {
  const words = [TRAVEL, "--tasks", "3", "--seed", DURING, "--strategies", "cairn"];
  const { exit, document } = await trial(createCliFolder(PATIENT_BEATS), ...words);
  const kills = { killed: 3, survived: 3, divergent: [], duplicates: [], missing: [] };
  expect(document).toMatchObject({
    strategies: [{ strategy: "cairn", ...kills, work: { repliesMax: 1, callsMax: 1 } }],
  });
  expect(exit).toBe(0);
});

test.each<[says: string, words: readonly string[], exit: number, code: string]>([
  ["AWS", ["clerk", "--world", "aws"], 2, "WorldUnfit"],
  ["no task", ["clerk"], 2, "InputMissing"],
  ["plain loops for a pipeline", [INVOICE, "--strategies", "in-process,act-then-save"], 2, "Usage"],
  ["no such strategy", ["clerk", "--strategies", "hope"], 2, "Usage"],
])("refuses %s", async (_, words, exit, code) => {
  const refused = await trial(createCliFolder(PATIENT_BEATS), ...words);
  expect(refused.document).toMatchObject({ error: { code } });
  expect(refused.exit).toBe(exit);
});
