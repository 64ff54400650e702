/**
 * The table of ADR 0056 maps the phases of the seeds to the phases of cairn, and leaves none of cairn's out. `show` says
 * of a run in each phase what the table promises.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import { withKernel } from "../../src/features/compose.ts";
import { memoryWorld } from "../../src/adapters/memory/world.ts";
import { renderRun } from "../../src/render/run.ts";
import { commandLine } from "../../src/render/words.ts";
import { plain } from "../../src/render/paint.ts";
import { NOTHING_SEALED, encodeSnapshot } from "../../src/codec/snapshot.ts";
import { encodeSegment } from "../../src/codec/transcript.ts";
import { PHASES, PHASE_NAMES, type Phase } from "../../src/core/phases.ts";
import { segmentKey } from "../../src/history/object-keys.ts";
import { show } from "../../src/operations/views.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { AT, IN_PHASE, RUN, row } from "../support/states/states-and-events.ts";

const PAGE = join(import.meta.dirname, "../../docs/adr/0056-no-phases-for-messages-and-sleep.md");

const rows = readFileSync(PAGE, "utf8")
  .split("\n")
  .filter((line) => /^\| (`|\()/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()));

const rowOf = (phase: Phase) => rows.filter(([, , here]) => here === `\`${phase}\``);

/** What `show` prints of a run in that phase. */
async function shownIn(phase: Phase): Promise<string> {
  const world = withKernel(memoryWorld({ clock: virtualClock(AT), limits: limitsFor(60_000) }));
  const state = IN_PHASE[phase]();
  const { digest, bytes, segments } = encodeSnapshot({
    ...{ version: 4, previous: null, seal: NOTHING_SEALED, commits: [], state, ...FEW_BYTES },
  });
  world.store.objects.set("s4", bytes);
  for (const segment of segments)
    world.store.objects.set(segmentKey(state, segment.ref.sha256), encodeSegment(segment));
  const { status } = PHASES[phase];
  const wakeAt = phase === "RetryingLLM" ? AT + 60_000 : null;
  const snapshot = { version: 4, key: "s4", digest };
  world.store.rows.set(RUN, row({ version: 4, phase, status, snapshot, wakeAt }));
  const shown = await show(world, RUN);
  if (shown === null) throw new Error(`no run in ${phase}`);
  return renderRun(shown, { now: AT, paint: plain, width: 100, command: (...words) => commandLine(words) });
}
/** What `show` prints besides its label, where the table promises more than the label. */
const PROMISED: { readonly [P in Phase]?: readonly RegExp[] } = {
  ExecutingTools: [/the outcome of fourth \(c4\) is unknown/],
  AwaitingApproval: [/^gate +gate-c1$/m, /may book \(c1\) run\? it costs money/, /^until .* then it is denied$/m],
  RetryingLLM: [/^continues +in 1m00s, at \d\d:\d\d:\d\d$/m],
  AwaitingReconcile: [/the outcome of book \(c1\) is unknown/, /^key +key-c1$/m, /cairn reconcile \S+ c1 --as/],
  AwaitingChildren: [/^CHILD RUN .*NEEDED/m, /^local-child-c1 +worker +c1 /m],
  Paused: [/cairn resume/],
  AwaitingAgent: [/it is pinned to agent version 1, and version 2 is deployed/],
  Completed: [/^result$\s+^done$/m],
  Failed: [/^ModelUnavailable: no model answered$/m, /cairn redrive/],
};

test.each(PHASE_NAMES)("%s stands in the table once, with what show prints for it", async (phase) => {
  const found = rowOf(phase);
  expect(found).toHaveLength(1);
  const promise = found[0]?.[3] ?? "";
  const shown = await shownIn(phase);
  const [, words = ""] = /^`show`: ([^,;.]+)/.exec(promise) ?? [];
  const label = /^status +(?:\w+, )?(.+)$/m.exec(shown)?.[1] ?? "";
  // The label is what the table says, or the table says what else stands there.
  if (!label.startsWith(words)) expect(words).toMatch(/^the (result|code|gate or the question)$/);
  for (const each of PROMISED[phase] ?? []) expect(shown).toMatch(each);
});

test("the two phases that cairn does not have are in the table, and not in the code", () => {
  for (const phase of ["InjectingMessage", "Sleeping"]) {
    expect(rows.filter(([, theirs]) => theirs === `\`${phase}\``)).toHaveLength(1);
    expect(PHASE_NAMES).not.toContain(phase);
  }
});
