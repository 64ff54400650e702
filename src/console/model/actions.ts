/** What an operator can do to a run: the request, the command that does the same, and what will happen. */
import type { Forkable } from "../../operations/fork.ts";
import type { Shown, TimelineEntry } from "../../operations/views.ts";
import { SIZES } from "../../codec/limits.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { ledgerOf } from "../../history/call-ledger.ts";
import { type ConsoleAction, requestOf } from "./commands.ts";

export type ActionName =
  | "message"
  | "pause"
  | "resume"
  | "upgrade"
  | "cancel"
  | "undo"
  | "restart"
  | "redrive"
  | "checked"
  | "fork"
  | "assign"
  | "purge";

export interface Described {
  readonly title: string;
  readonly says: string;
  /** A text that the action takes; null: none. */
  readonly field: {
    readonly label: string;
    readonly lines: 1 | 3;
    readonly must: boolean;
    readonly value?: string;
    readonly charactersMax?: number;
  } | null;
  readonly isDangerous: boolean;
  readonly request: (text: string, confirmed: boolean) => ConsoleAction;
}

/** The actions that the status of the run allows, the usual ones first. */
export function actionsOf(
  run: Pick<Shown, "inProgress" | "status" | "redrivable" | "waitsFor" | "restored">,
): readonly ActionName[] {
  const { inProgress, status, redrivable, waitsFor } = run;
  // An older server does not say it.
  const checked = run.restored == null ? [] : (["checked"] as const);
  if (!inProgress) return [...(redrivable ? (["redrive"] as const) : []), ...checked, "fork", "purge"];
  return [
    ...checked,
    ...(waitsFor?.kind === "upgrade" && !waitsFor.accepted ? (["upgrade"] as const) : []),
    "message",
    ...(waitsFor?.kind === "operator" && status !== "paused" ? (["resume"] as const) : []),
    status === "paused" ? "resume" : "pause",
    "assign",
    "fork",
    "restart",
    "cancel",
    "undo",
  ];
}

/** What the words and the request of an action need of a run. */
type Target = Pick<Shown, "run" | "version"> & Partial<Pick<Shown, "assigned">>;

/** The reason, which stands in the audit log. */
const WHY = { label: "Why (for the record)", lines: 1, charactersMax: SIZES.whyCharactersMax } as const;

const REASONED = { field: { ...WHY, must: false }, isDangerous: false } as const;

/** A reason that was given, as words of the command and as a field of the input. */
const typed = (why: string): readonly string[] => (why === "" ? [] : ["--why", why]);
const given = (why: string): string | undefined => (why === "" ? undefined : why);

/** Operations that take a reason and nothing else. */
type Reasoned = "pause" | "resume" | "upgrade" | "cancel" | "restart" | "checked";

/** The command and the request of such an operation. `words`: the command, and an option that selects the operation. */
const reasoned =
  (name: Reasoned, { run }: Target, [command, ...options]: readonly [string, ...string[]] = [name]) =>
  (why: string): ConsoleAction => ({
    words: [command, run, ...options, ...typed(why)],
    ...requestOf(name, { run, why: given(why) }),
  });

const DESCRIBED: { readonly [A in ActionName]: (target: Target) => Described } = {
  message: ({ run }) => ({
    title: "Message",
    says: "The model reads it with its next beat.",
    isDangerous: false,
    field: { label: "Text for the model", lines: 3, must: true },
    request: (text) => ({ words: ["send", run, text], ...requestOf("send", { run, text }) }),
  }),
  pause: (target) => ({
    ...REASONED,
    title: "Pause",
    says: "The run stops after the beat that is under way. Nothing is undone.",
    request: reasoned("pause", target),
  }),
  resume: (target) => ({
    ...REASONED,
    title: "Resume",
    says: "The run goes on from its last checkpoint.",
    request: reasoned("resume", target),
  }),
  upgrade: (target) => ({
    ...REASONED,
    title: "Accept the version",
    says: "The run continues with the newer code of its agent.",
    request: reasoned("upgrade", target, ["resume", "--upgrade"]),
  }),
  cancel: (target) => ({
    ...REASONED,
    isDangerous: true,
    title: "Cancel",
    says: "The run ends. What it did stays as it is.",
    request: reasoned("cancel", target),
  }),
  undo: ({ run }) => ({
    ...REASONED,
    isDangerous: true,
    title: "Undo and cancel",
    says: "The effects of the run are undone, the newest first. Then it ends.",
    request: (why) => ({
      words: ["cancel", run, "--compensate", ...typed(why)],
      ...requestOf("cancel", { run, compensate: true, why: given(why) }),
    }),
  }),
  restart: ({ run }) => ({
    ...REASONED,
    isDangerous: true,
    title: "Restart",
    says: "The effects of the run are undone. Then it does its task again from the beginning, and pays for it again.",
    request: (why, confirmed) => ({
      words: ["restart", run, ...typed(why), ...(confirmed ? ["--yes"] : [])],
      ...requestOf("restart", { run, why: given(why), confirmed: confirmed || undefined }),
    }),
  }),
  redrive: ({ run }) => ({
    title: "Redrive",
    says: "The failed run goes on from its last checkpoint. It repeats no recorded call.",
    isDangerous: false,
    field: { ...WHY, must: true },
    request: (why) => ({ words: ["redrive", run, "--why", why], ...requestOf("redrive", { run, why }) }),
  }),
  checked: (target) => ({
    ...REASONED,
    title: "Outside was checked",
    says: "You have checked in the external services what the run did before its store was restored. It asks no more.",
    request: reasoned("checked", target),
  }),
  fork: ({ run, version }) => ({
    title: "Fork",
    says: "A new run begins with the state of this version. It shares what was done before, and owns none of it.",
    isDangerous: false,
    field: { label: "Version", lines: 1, must: true, value: String(version) },
    request: (at, confirmed) => ({
      words: ["fork", run, "--at", at, ...(confirmed ? ["--yes"] : [])],
      ...requestOf("fork", { run, at: Number(at), confirmed: confirmed || undefined }),
    }),
  }),
  assign: ({ run, assigned }) => ({
    title: "Assign",
    says: "Names the operator who is responsible for the run.",
    isDangerous: false,
    field: { label: "Operator", lines: 1, must: true, value: assigned?.to ?? "" },
    request: (to) => ({ words: ["assign", run, to], ...requestOf("assign", { run, to }) }),
  }),
  purge: ({ run }) => ({
    title: "Purge",
    says: `All data of the run is deleted, for good. Type its ID to confirm: ${run}`,
    isDangerous: true,
    field: { label: "ID of the run", lines: 1, must: true },
    request: () => ({ words: ["purge", run, "--yes"], ...requestOf("purge", { run }) }),
  }),
};

export const describe = (name: ActionName, run: Target): Described => DESCRIBED[name](run);

/** What an operator does to the schedule of an agent. */
export const scheduleAction = (agent: string, word: "pause" | "resume" | "run"): ConsoleAction => ({
  words: ["schedules", word, agent],
  ...requestOf(`${word}Schedule`, { agent }),
});

/** Sends a webhook endpoint again what it refused: one notification, or all; or gives it to another endpoint. */
export const redeliverAction = (
  endpoint: string,
  { notification, to }: { readonly notification: string | null; readonly to: string | null },
): ConsoleAction => ({
  words: [
    "webhooks",
    "redeliver",
    endpoint,
    ...(notification === null ? [] : [notification]),
    ...(to === null ? [] : ["--to", to]),
  ],
  ...requestOf("redeliver", { endpoint, notification: notification ?? undefined, to: to ?? undefined }),
});

/** Whether the text allows the action: a purge needs the ID, a fork a version. */
export function isReady(name: ActionName, text: string, run: Shown): boolean {
  if (name === "purge") return text.trim() === run.run;
  if (name === "fork") return /^\d+$/.test(text.trim());
  return text.trim() !== "";
}

/** The versions that a refused fork names, in order: the nearest ones at which the run can be forked. */
export function forkableIn(outcome: Readonly<Record<string, unknown>> | null): readonly string[] {
  const { versions } = (outcome?.["forkable"] ?? {}) as Partial<Forkable>;
  return (versions ?? []).map(String);
}

/** The effects that stand, newest first, and whether each can be undone. */
export function effectEntries(
  entries: readonly TimelineEntry[],
): readonly { readonly call: string; readonly tool: string; readonly canUndo: boolean }[] {
  const undoable = new Set(
    entries.flatMap((entry) => (entry.kind === "ToolIntended" && entry.undo === true ? [entry.call] : [])),
  );
  return ledgerOf(entries)
    .filter(
      ({ effect, status, undoes }) =>
        effect !== null && EFFECTS[effect].actsOutside && undoes === undefined && STANDS.has(status),
    )
    .map(({ call, tool }) => ({ call, tool, canUndo: undoable.has(call) }))
    .toReversed();
}

const STANDS: ReadonlySet<string> = new Set(["started", "succeeded", "unknown", "reconciled"]);
