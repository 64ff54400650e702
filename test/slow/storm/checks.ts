/** What must hold of runs of the effects agent after a storm, by the store and by the external service. */
import { canonical } from "../../../src/codec/canonical.ts";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { NOTHING_SPENT, add } from "../../../src/core/policy/budget.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import type { ExternalService, RecordedRequest } from "../../support/processes/external-service.ts";
import type { EffectsTask } from "../../support/processes/effects-agent.ts";
import type { ProcessHarness } from "../../support/processes/supervisor-process.ts";

/** A run and what it was asked to do. */
export interface Started {
  readonly run: string;
  readonly errand: EffectsTask;
}

/** What is wrong with them, in words. */
export async function wrongWith(
  harness: ProcessHarness,
  side: ExternalService,
  started: readonly Started[],
): Promise<readonly string[]> {
  const effects = Map.groupBy(side.effects(), ({ of }) => of);
  const found = await Promise.all(
    started.map(async ({ run, errand }) => {
      const mine = effects.get(errand.of) ?? [];
      const wrong = await Promise.all([
        end(harness, { run, errand }),
        history(harness, run),
        calls(harness, { run, errand, mine }),
      ]);
      return wrong.flat().map((what) => `run ${errand.of} (${run}): ${what}`);
    }),
  );
  return found.flat();
}

/** It is over, with the same words as any other run of the same steps, and nothing of it was said twice. */
async function end({ world }: ProcessHarness, { run, errand }: Started): Promise<readonly string[]> {
  const shown = await show(world, run);
  const result = errand.steps.map((step) => `${step} succeeded`).join(", ");
  const messages = 2 * errand.steps.length + 2;
  if (shown === null) return ["it is gone"];
  const wrong: string[] = [];
  if (shown.status !== "completed") wrong.push(`it is ${shown.status} (${shown.failure?.code})`);
  if (shown.result !== result) wrong.push(`it resulted in ${JSON.stringify(shown.result)}`);
  if (shown.messages !== messages) wrong.push(`${shown.messages} messages instead of ${messages}`);
  return wrong;
}

/** One writer at a time: no version under an older epoch than the one before; one end; spent is what was debited. */
async function history({ world }: ProcessHarness, run: string): Promise<readonly string[]> {
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const row = await world.table.read(run, Date.now());
  const wrong: string[] = [];
  let [version, epoch, ends, spent] = [0, 0, 0, NOTHING_SPENT];
  for (const event of events) {
    if (event.version < version || event.epoch < epoch) wrong.push(`version ${event.version} came after ${version}`);
    ({ version, epoch } = event);
    if (event.kind === "RunEnded") ends += 1;
    if (event.kind === "BudgetDebited") spent = add(spent, event.debit);
  }
  if (ends !== 1) wrong.push(`it ended ${ends} times`);
  if (canonical(row?.spent) !== canonical(spent)) wrong.push("spent is not what was debited");
  return wrong;
}

/** Each call happened once, under one key, and the external service knows it by the key of the ledger. */
async function calls(
  { world }: ProcessHarness,
  { run, errand, mine }: Started & { readonly mine: readonly RecordedRequest[] },
): Promise<readonly string[]> {
  const all = (await ledger(world, run)) ?? [];
  const wrong = all.flatMap(({ call, status }) => (status === "succeeded" ? [] : [`call ${call} is ${status}`]));
  if (all.length !== errand.steps.length) wrong.push(`${all.length} calls instead of ${errand.steps.length}`);
  const keys = all.filter(({ effect }) => effect !== "none").map(({ key }) => key ?? "");
  const happened = mine.map(({ key }) => key).toSorted();
  if (JSON.stringify(happened) !== JSON.stringify(keys.toSorted())) {
    wrong.push(`${happened.length} effects (${happened.join(", ")}) for the keys ${keys.join(", ")}`);
  }
  return wrong;
}

/** The processes whose command line names the store: supervisors and workers, also orphaned ones. */
export function processesOn(dir: string): readonly number[] {
  return commandLines().flatMap(({ pid, line }) => (line.includes(dir) ? [pid] : []));
}

function commandLines(): readonly { readonly pid: number; readonly line: string }[] {
  if (process.platform !== "linux") {
    const lines = execFileSync("ps", ["-axo", "pid=,command="], { encoding: "utf8" }).split("\n");
    return lines.map((line) => ({ pid: Number.parseInt(line, 10), line }));
  }
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [{ pid: Number(name), line: readFileSync(`/proc/${name}/cmdline`, "utf8") }] : [];
    } catch {
      // It ended meanwhile.
      return [];
    }
  });
}
