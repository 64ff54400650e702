/** What waits for a human, in one list: what expires first comes first. */
import type { Json } from "../../core/json.ts";
import { MENDS } from "../../core/policy/mends.ts";
import type { RestoredRun, WaitingGate, WaitingPage, WaitingQuestion } from "../../operations/approvals.ts";
import type { Shown, ShownParse, UnknownCall, WaitsFor } from "../../operations/views.ts";

export interface AllNeeds {
  readonly gates: readonly WaitingGate[];
  readonly questions: readonly WaitingQuestion[];
  readonly restored: readonly RestoredRun[];
  readonly unreadable: WaitingPage["unreadable"];
  /** Runs that wait for an operator: the outcome of a call is unknown, or their agent cannot be loaded. */
  readonly blocked: readonly Shown[];
}

interface About {
  readonly id: string;
  readonly run: string;
  readonly title: string;
  /** When it is too late, in epoch milliseconds; null: never. */
  readonly until: number | null;
}

export type Need = About &
  (
    | { readonly kind: "gate"; readonly gate: WaitingGate }
    | { readonly kind: "question"; readonly question: WaitingQuestion }
    | { readonly kind: "unknown"; readonly shown: Shown; readonly call: UnknownCall }
    | { readonly kind: "upgrade"; readonly shown: Shown }
    /** Its store was restored, and the external services were not checked. */
    | { readonly kind: "restored"; readonly mark: RestoredRun }
    /** An operator has to mend what fails. */
    | { readonly kind: "operator"; readonly shown: Shown }
  );

export function needsOf({ gates, questions, restored, blocked }: AllNeeds): readonly Need[] {
  const all: readonly Need[] = [
    ...gates.map((gate): Need => {
      const { run, tool, expiresAt: until } = gate;
      return { kind: "gate", gate, id: `${run} ${gate.gate}`, run, until, title: `Approve ${tool}` };
    }),
    ...questions.map((question): Need => {
      const { run, call, tool, until } = question;
      return { kind: "question", question, id: `${run} ${call} ${question.asked}`, run, until, title: `${tool} asks` };
    }),
    ...restored.map((mark): Need => {
      const { run } = mark;
      return { kind: "restored", mark, id: restoredId(mark), run, until: null, title: "Restored from a backup" };
    }),
    ...blocked.flatMap((shown) =>
      shown.unknown
        .filter(({ answered }) => !answered)
        .map((call): Need => {
          const title = `Outcome of ${call.tool} unknown`;
          return {
            kind: "unknown",
            shown,
            call,
            id: unknownId(shown.run, call),
            run: shown.run,
            until: null,
            title,
          };
        }),
    ),
    ...blocked.flatMap((shown): readonly Need[] => {
      const { run, agent, waitsFor } = shown;
      if (waitsFor?.kind === "operator")
        return [
          {
            kind: "operator",
            shown,
            id: repairId(shown),
            run,
            until: null,
            title: `The ${MENDS[waitsFor.mends].of} of ${agent}`,
          },
        ];
      if (waitsFor?.kind !== "upgrade" || waitsFor.accepted) return [];
      const title = `New version of ${agent}`;
      return [{ kind: "upgrade", shown, id: upgradeNeedId(run, waitsFor), run, until: null, title }];
    }),
  ];
  return needsInOrder(all);
}

/** The outcome of a call can become unknown again. Then it is another question, which has another time. */
export const unknownId = (
  run: string,
  { call, reconcilableFrom }: Pick<UnknownCall, "call" | "reconcilableFrom">,
): string => `${run} ${call} unknown ${reconcilableFrom}`;

/** A run can wait for another version later, which an earlier acceptance does not answer. */
export const upgradeNeedId = (run: string, { from, to }: Upgrade): string => `${run} upgrade ${from} ${to}`;

/** Another restore of the store is another question. */
export const restoredId = ({ run, at }: Pick<RestoredRun, "run" | "at">): string => `${run} restored ${at}`;

/** After a resume the run may wait for the same again, and is asked about again. */
export const repairId = ({ run, statusSince }: Pick<Shown, "run" | "statusSince">): string =>
  `${run} operator ${statusSince}`;

type Upgrade = Pick<Extract<WaitsFor, { readonly kind: "upgrade" }>, "from" | "to">;

/** What expires first comes first. */
export const needsInOrder = (all: readonly Need[]): readonly Need[] =>
  all.toSorted((one, other) => (one.until ?? Number.MAX_VALUE) - (other.until ?? Number.MAX_VALUE));

/** Whether the run has not taken the answer yet. `shown`: its document, or null if it is gone. */
export function isOpenIn(need: Need, shown: Shown | null): boolean {
  if (shown === null || !shown.inProgress) return false;
  const { run, waitsFor } = shown;
  switch (need.kind) {
    case "gate":
      return shown.gates.some(({ gate }) => gate === need.gate.gate);
    case "question":
      return shown.waits.some(({ call, asked }) => call === need.question.call && asked === need.question.asked);
    case "unknown":
      return shown.unknown.some((call) => unknownId(run, call) === need.id);
    case "restored":
      return shown.restored?.at === need.mark.at;
    case "operator":
      return waitsFor?.kind === "operator" && repairId(shown) === need.id;
    case "upgrade":
      return waitsFor?.kind === "upgrade" && upgradeNeedId(run, waitsFor) === need.id;
  }
}

/** What came of reading a blocked run: its document, why there is none, or null if the run is gone. */
export type BlockedRead = { readonly shown: Shown } | { readonly run: string; readonly why: string } | null;

/** A run that cannot be read now stays as it was known. One that was never read is named: whether it waits is not known. */
export function blockedFrom(
  known: readonly Shown[],
  reads: readonly BlockedRead[],
): Pick<AllNeeds, "blocked" | "unreadable"> {
  const before = new Map(known.map((shown) => [shown.run, shown]));
  const found = reads.filter((each) => each !== null);
  return {
    blocked: found.flatMap((each) => ("shown" in each ? each.shown : (before.get(each.run) ?? []))),
    unreadable: found.flatMap((each) => ("shown" in each || before.has(each.run) ? [] : [each])),
  };
}

/** The document of a run as the API answers it. */
export type ShownDocument = Shown & {
  /** Pointers to the parts that were too long for the answer, which are null. */
  readonly omitted?: readonly string[];
};

/** The arguments of a gate or a question in the document of its run; null if that leaves them out too. */
export function argsIn(
  waiting: WaitingGate | WaitingQuestion,
  { gates, waits, omitted = [] }: ShownDocument,
): { readonly args: unknown; readonly parsed: ShownParse | null } | null {
  const isGate = "gate" in waiting;
  if (omitted.includes(isGate ? "#/gates/*/args" : "#/waits/*/args")) return null;
  if (isGate) {
    const gate = gates.find((each) => each.gate === waiting.gate);
    return gate === undefined ? null : { args: gate.args, parsed: gate.parsed };
  }
  const found = waits.find(({ call, asked }) => call === waiting.call && asked === waiting.asked);
  return found === undefined ? null : { args: found.args, parsed: null };
}

/** Why a text is no JSON document, or the document. */
export function jsonIn(
  text: string,
): { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly why: string } {
  try {
    return { ok: true, json: JSON.parse(text) as Json };
  } catch (error) {
    return { ok: false, why: `This is no JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** An answer as a human types it: JSON, or plain text where a string fits. */
export function answerIn(text: string, schema: unknown): ReturnType<typeof jsonIn> {
  const parsed = jsonIn(text);
  const type = (schema as { readonly type?: unknown } | null)?.type;
  return parsed.ok || (type !== "string" && type !== undefined) ? parsed : { ok: true, json: text };
}
