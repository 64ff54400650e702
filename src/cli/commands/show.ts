/** Commands that read the store and change nothing: `list`, `show`, `timeline`, `ledger`, `watch`. */
import type { Crack } from "../../core/crack.ts";
import { DEFAULT_TENANT } from "../../core/ids.ts";
import type { Phase, Status } from "../../core/phases.ts";
import { ensure } from "../../core/ensure.ts";
import type { Listed } from "../../operations/list.ts";
import type { OperationContext } from "../../operations/operation.ts";
import type { Summary } from "../../operations/views.ts";
import type { Damaged } from "../../ports/run-table.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { EXIT } from "../errors.ts";
import { exitOf, follow } from "../terminal/follow.ts";
import { liveView } from "../terminal/live.ts";
import { type Opened, attendantOf, openToRead } from "../open.ts";
import { contextOf, unlessGone } from "../perform.ts";
import type { Style } from "../terminal/paint.ts";
import { renderDamaged, renderList, renderRun } from "../render/run.ts";
import { renderLedger } from "../render/ledger.ts";
import { receiptOfRun } from "../../history/run-receipt.ts";
import { receiptLine, renderReceipt } from "../render/receipt.ts";
import { UNTOLD } from "../render/story.ts";
import { tell } from "../render/timeline.ts";
import { sinceOf } from "./audit-log.ts";
import { resolveRun, runGone } from "./runs.ts";
import { type Shell, type StoreFlags, printDocument, printLines } from "../shell.ts";

export interface ListFlags extends StoreFlags {
  readonly status?: Status;
  readonly agent?: string;
  readonly agentVersion?: string;
  readonly phase?: Phase;
  readonly schedule?: string;
  readonly crack?: Crack;
  readonly since?: string;
  readonly above?: number;
  readonly tenant?: string;
  readonly limit: number;
}

export interface RunOf {
  readonly run: string;
  readonly flags: StoreFlags;
}

/** `cairn list`: prints the runs of the store, also those whose row is damaged. */
export async function list(shell: Shell, flags: ListFlags): Promise<number> {
  const opened = await openToRead(shell, flags);
  const context = contextOf(shell, opened, { tenant: flags.tenant ?? DEFAULT_TENANT });
  const since = sinceOf(shell, flags.since, context.world.clock.now());
  const { runs, damaged, more } = await listed(context, { ...flags, since });
  const { command } = opened.settings;
  const style = styleOf(shell, opened);
  if (shell.json) printLines(shell, [...runs, ...damaged.map(({ run, why }) => ({ run, damaged: why }))]);
  else if (runs.length > 0) shell.terminal.out(renderList(runs, style));
  else if (damaged.length === 0) shell.terminal.out(`no run matches; start one: ${command("start", "AGENT")}`);
  for (const each of shell.json ? [] : damaged) shell.terminal.out(renderDamaged(each, { ...style, command }));
  if (more) shell.terminal.err(`there are more; see them with --limit ${flags.limit * 10}`);
  return EXIT.done;
}

/** The runs, in as many lists as it takes to find `limit` of them. */
async function listed(
  context: OperationContext,
  of: Omit<ListFlags, "since"> & { readonly since: number | null },
): Promise<Omit<Listed, "kind" | "next">> {
  const { status = null, agent = null, agentVersion = null, phase = null, limit, since } = of;
  const { schedule = null, crack = null, above: usdAbove = null } = of;
  const runs: Summary[] = [];
  const damaged: Damaged[] = [];
  for (let after: string | null = null; ;) {
    const wanted = { status, agent, agentVersion, phase, schedule, crack, since, usdAbove };
    const limitLeft = limit - runs.length;
    const part: Awaited<ReturnType<typeof OPERATIONS.list.run>> = await performOperation(OPERATIONS.list, context, {
      ...wanted,
      after,
      limit: limitLeft,
    });
    // The context names the tenant, so the list asks for no other.
    ensure(part.kind === "listed", "a list of the own tenant is refused");
    runs.push(...part.runs);
    damaged.push(...part.damaged);
    if (runs.length === limit || part.next === null) return { runs, damaged, more: part.more };
    after = part.next;
  }
}

/** `cairn show RUN`: prints the state of a run, and what a human can do about it. */
export async function showRun(shell: Shell, of: RunOf): Promise<number> {
  const { opened, run } = await find(shell, of);
  const outcome = await performOperation(OPERATIONS.show, contextOf(shell, opened), { run });
  const { shown } = unlessGone(opened, { run, outcome });
  const style = styleOf(shell, opened);
  if (shell.json) printDocument(shell, shown);
  else shell.terminal.out(renderRun(shown, { ...style, command: opened.settings.command }));
  return EXIT.done;
}

/** `cairn timeline RUN`: prints the events of a run. */
export async function showTimeline(shell: Shell, of: RunOf): Promise<number> {
  const { opened, run } = await find(shell, of);
  const outcome = await performOperation(OPERATIONS.timeline, contextOf(shell, opened), { run });
  const { entries } = unlessGone(opened, { run, outcome });
  if (shell.json) printLines(shell, entries);
  else if (entries.length === 0)
    shell.terminal.out(`the run has not started yet; type \`${opened.settings.command("work")}\``);
  for (const line of shell.json ? [] : tell(UNTOLD, entries, styleOf(shell, opened)).lines) shell.terminal.out(line);
  if (!shell.json && entries.length > 0) shell.terminal.out(receiptLine(receiptOfRun(entries)));
  return EXIT.done;
}

/** `cairn ledger RUN`: prints every tool call of a run, with its outcome and the evidence for it. */
export async function showLedger(shell: Shell, of: RunOf): Promise<number> {
  const { opened, run } = await find(shell, of);
  const outcome = await performOperation(OPERATIONS.ledger, contextOf(shell, opened), { run });
  const { calls } = unlessGone(opened, { run, outcome });
  if (shell.json) printLines(shell, calls);
  else if (calls.length === 0) shell.terminal.out("the model has not called a tool yet");
  else shell.terminal.out(renderLedger(calls, styleOf(shell, opened)));
  return EXIT.done;
}

/** `cairn cost RUN`: prints what the run spent on what. */
export async function showCost(shell: Shell, of: RunOf): Promise<number> {
  const { opened, run } = await find(shell, of);
  const outcome = await performOperation(OPERATIONS.cost, contextOf(shell, opened), { run });
  const { receipt } = unlessGone(opened, { run, outcome });
  if (shell.json) printDocument(shell, receipt);
  else shell.terminal.out(renderReceipt(receipt, styleOf(shell, opened)));
  return EXIT.done;
}

/** `cairn watch` does not drive the run. If no process drives it, it says so. */
export async function watch(shell: Shell, of: RunOf): Promise<number> {
  const { opened, run } = await find(shell, of);
  const stop = shell.stopSignal();
  const live = liveView(shell, opened);
  const end = await follow(opened.world, {
    ...{ run, stop, lookEveryMs: opened.pollMs },
    onEntries: (entries) => (shell.json ? printLines(shell, entries) : live.onEntries(entries)),
    onLost: (why) => live.onLost(run, why),
    onLook: (row) => live.onLook(row, attendantOf(opened) !== null),
    ...(shell.json ? {} : { onLive: live.onLive }),
  });
  live.end(present(opened, { run, found: end.shown }));
  return exitOf(end, stop);
}

/** Opens the store to read, and resolves the run that the user typed. */
export async function find(shell: Shell, { run: text, flags }: RunOf): Promise<{ opened: Opened; run: string }> {
  const opened = await openToRead(shell, flags);
  const run = await resolveRun(opened.world, { text, command: opened.settings.command });
  return { opened, run };
}

/** The value, or the error that the run is gone if it is null. */
export function present<T>({ settings }: Opened, of: { readonly run: string; readonly found: T | null }): T {
  if (of.found === null) throw runGone(of.run, settings.command("list"));
  return of.found;
}

const styleOf = ({ terminal }: Shell, { world }: Opened): Style => ({
  now: world.clock.now(),
  paint: terminal.paintOut,
  width: terminal.width,
});
