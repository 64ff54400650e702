/** Commands that read the store and change nothing: `list`, `show`, `timeline`, `ledger`, `watch`. */
import { describeDoubt } from "../../ports/clock-doubt.ts";
import type { ClockDoubt } from "../../protocol/steadiness.ts";
import { SIZES } from "../../codec/limits.ts";
import type { Crack } from "../../core/crack.ts";
import { DEFAULT_TENANT, isRunId } from "../../core/ids.ts";
import type { Phase, Status } from "../../core/phases.ts";
import { ensure } from "../../core/ensure.ts";
import type { EventPage } from "../../operations/event-page.ts";
import type { Listed } from "../../operations/list.ts";
import type { OutcomeOf } from "../../operations/caller-outcome.ts";
import type { LedgerEntry, Summary, TimelineEntry } from "../../operations/views.ts";
import type { Damaged } from "../../ports/run-table.ts";
import { EXIT } from "../../compose/user-error.ts";
import { exitOf } from "../terminal/follow.ts";
import { liveView } from "../terminal/live.ts";
import { styleOf } from "../style.ts";
import { unlessRunGone } from "../perform.ts";
import { renderDamaged, renderRun } from "../../render/run.ts";
import { renderList } from "../../render/run-list.ts";
import { renderLedger } from "../../render/ledger.ts";
import { receiptOfRun } from "../../history/run-receipt.ts";
import { receiptLine, renderReceipt } from "../../render/receipt.ts";
import { UNTOLD } from "../../render/story.ts";
import { renderEvents } from "../../render/timeline.ts";
import { typedLabels } from "../input.ts";
import { sinceTyped } from "./audit-log.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument, printLines } from "../shell.ts";
import { transportToRead, transportToReadRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface ListFlags extends StoreFlags {
  readonly status?: Status;
  readonly agent?: string;
  readonly agentVersion?: string;
  readonly phase?: Phase;
  readonly schedule?: string;
  readonly key?: string;
  readonly named?: string;
  readonly label?: readonly string[];
  readonly parent?: string;
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
  const transport = await transportToRead(shell, flags);
  const { command, now } = transport;
  const since = sinceTyped(shell, flags.since, now());
  typedLabels(shell, flags.label);
  const parent = flags.parent === undefined ? null : await wholeId(transport, flags.parent);
  const { runs, damaged, more } = await listed(transport, { ...flags, parent, since });
  const style = styleOf(shell, transport);
  if (shell.json) printLines(shell, [...runs, ...damaged.map(({ run, why }) => ({ run, damaged: why }))]);
  else if (runs.length > 0) shell.terminal.out(renderList(runs, style));
  else if (damaged.length === 0) shell.terminal.out(nothingListed(flags, command));
  for (const each of shell.json ? [] : damaged) shell.terminal.out(renderDamaged(each, { ...style, command }));
  if (more) shell.terminal.err(`there are more; see them with --limit ${flags.limit * 10}`);
  return EXIT.done;
}

/** The run itself may be gone. */
const wholeId = async ({ resolve }: Transport, text: string): Promise<string> =>
  isRunId(text) ? text : resolve(text, "read");

/** A store may have runs of other tenants. A server lists those of the caller alone. */
function nothingListed({ api, key = "" }: ListFlags, command: Transport["command"]): string {
  const other = api === undefined ? "; --tenant NAME lists those of another tenant" : "";
  const isLong = Buffer.byteLength(key) > KEY_BYTES_KEPT;
  const kept = `; a row may keep only ${KEY_BYTES_KEPT} bytes of a key: type the whole key, or less of it`;
  return `no run matches${isLong ? kept : ""}${other}; start one: ${command("start", "AGENT")}`;
}

/** What a row has of each key: the rest may be cut, and then the last character says so. */
const KEY_BYTES_KEPT = SIZES.keyShownBytesMax - Buffer.byteLength("…");

/** The runs, in as many lists as it takes to find `limit` of them. */
async function listed(
  { perform }: Transport,
  filters: Omit<ListFlags, "since" | "parent"> & { readonly since: number | null; readonly parent: string | null },
): Promise<Omit<Listed, "kind" | "next">> {
  const { status = null, agent = null, agentVersion = null, phase = null, limit, since, parent } = filters;
  const {
    schedule = null,
    key = null,
    named = null,
    label = null,
    crack = null,
    above: usdAbove = null,
    tenant = DEFAULT_TENANT,
  } = filters;
  const runs: Summary[] = [];
  const damaged: Damaged[] = [];
  for (let after: string | null = null; ;) {
    const wanted = { status, agent, agentVersion, phase, schedule, key, named, parent, crack, since, usdAbove };
    const labels = { label: label === null ? null : [...label] };
    const left = limit - runs.length;
    const part: OutcomeOf<"list"> = await perform("list", { ...wanted, ...labels, after, limit: left }, { tenant });
    // The context names the tenant, so the list asks for no other.
    ensure(part.kind === "listed", "a list of the own tenant is refused");
    runs.push(...part.runs);
    damaged.push(...part.damaged);
    if (runs.length === limit || part.next === null) return { runs, damaged, more: part.more };
    after = part.next;
  }
}

/** `cairn show RUN`: prints the state of a run, and what a human can do about it. */
export async function showRun(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const outcome = await transport.perform("show", { run });
  const { shown } = unlessRunGone(transport, { run, outcome });
  const style = styleOf(shell, transport);
  if (shell.json) printDocument(shell, shown);
  else shell.terminal.out(renderRun(shown, { ...style, command: transport.command }));
  const doubt = transport.opened?.world.clock.doubt?.() ?? null;
  if (doubt !== null) shell.terminal.err(doubtLine(doubt));
  return EXIT.done;
}

/** The times of the run are shown by a clock that is doubted, and what waits for every clock ends later. */
function doubtLine(doubt: ClockDoubt): string {
  const { what, why, mend } = describeDoubt(doubt);
  return `${what}; ${why}; ${mend}`;
}

/** `cairn timeline RUN`: prints the events of a run. */
export async function showTimeline(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const entries = await timelineOf(transport, run);
  if (shell.json) printLines(shell, entries);
  else if (entries.length === 0)
    shell.terminal.out(`the run has not started yet; type \`${transport.command("work")}\``);
  for (const line of shell.json ? [] : renderEvents(UNTOLD, entries, styleOf(shell, transport)).lines)
    shell.terminal.out(line);
  if (!shell.json && entries.length > 0) shell.terminal.out(receiptLine(receiptOfRun(entries)));
  return EXIT.done;
}

/** `cairn ledger RUN`: prints every tool call of a run, with its outcome and the evidence for it. */
export async function showLedger(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const calls = await readLedger(transport, run);
  if (shell.json) printLines(shell, calls);
  else if (calls.length === 0) shell.terminal.out("the model has not called a tool yet");
  else shell.terminal.out(renderLedger(calls, styleOf(shell, transport)));
  return EXIT.done;
}

/** All events until now, in as many pages as it takes. */
async function timelineOf(transport: Transport, run: string): Promise<readonly TimelineEntry[]> {
  const entries: TimelineEntry[] = [];
  for (let after: number | null = 0; after !== null;) {
    const outcome: OutcomeOf<"timeline"> = await transport.perform("timeline", { run, after });
    const { entries: some, next, more }: EventPage = unlessRunGone(transport, { run, outcome });
    entries.push(...some);
    after = more ? next : null;
  }
  return entries;
}

/** All calls, in as many pages as it takes. */
export async function readLedger(transport: Transport, run: string): Promise<readonly LedgerEntry[]> {
  const calls: LedgerEntry[] = [];
  for (let after: number | null = 0; after !== null;) {
    const outcome: OutcomeOf<"ledger"> = await transport.perform("ledger", { run, after });
    const page: Exclude<OutcomeOf<"ledger">, { readonly kind: "missing" }> = unlessRunGone(transport, { run, outcome });
    calls.push(...page.calls);
    after = page.next;
  }
  return calls;
}

/** `cairn cost RUN`: prints what the run spent on what. */
export async function showCost(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const outcome = await transport.perform("cost", { run });
  const { receipt } = unlessRunGone(transport, { run, outcome });
  if (shell.json) printDocument(shell, receipt);
  else shell.terminal.out(renderReceipt(receipt, styleOf(shell, transport)));
  return EXIT.done;
}

/** `cairn watch` does not drive the run. If no process drives it, it says so. */
export async function watch(shell: Shell, typed: RunOf): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, typed);
  const stop = shell.stopSignal();
  const live = liveView(shell, transport);
  const end = await transport.follow({
    run,
    stop,
    onEntries: (entries) => (shell.json ? printLines(shell, entries) : live.onEntries(entries)),
    onLost: (why) => live.onLost(run, why),
    onLook: live.onLook,
    ...(shell.json ? {} : { onLive: live.onLive }),
  });
  if (end.shown !== null) live.end(end.shown);
  else if (end.kind !== "stopped" || transport.opened !== null) throw transport.gone(run);
  return exitOf(end, stop);
}
