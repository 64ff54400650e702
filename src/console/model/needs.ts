/** What waits for a human, in one list: what expires first comes first. */
import type { WaitingGate, WaitingPage, WaitingQuestion } from "../../operations/approvals.ts";
import type { Shown, UnknownCall } from "../../operations/views.ts";

export interface AllNeeds {
  readonly gates: readonly WaitingGate[];
  readonly questions: readonly WaitingQuestion[];
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
  );

export function needsOf({ gates, questions, blocked }: AllNeeds): readonly Need[] {
  const all: readonly Need[] = [
    ...gates.map((gate): Need => {
      const { run, tool, expiresAt: until } = gate;
      return { kind: "gate", gate, id: `${run} ${gate.gate}`, run, until, title: `Approve ${tool}` };
    }),
    ...questions.map((question): Need => {
      const { run, call, tool, until } = question;
      return { kind: "question", question, id: `${run} ${call} ${question.asked}`, run, until, title: `${tool} asks` };
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
            id: `${shown.run} ${call.call} unknown`,
            run: shown.run,
            until: null,
            title,
          };
        }),
    ),
    ...blocked
      .filter(({ waitsFor }) => waitsFor?.kind === "upgrade" && !waitsFor.accepted)
      .map((shown): Need => {
        const { run, agent } = shown;
        return { kind: "upgrade", shown, id: `${run} upgrade`, run, until: null, title: `New version of ${agent}` };
      }),
  ];
  return inOrder(all);
}

/** What expires first comes first. */
export const inOrder = (all: readonly Need[]): readonly Need[] =>
  all.toSorted((one, other) => (one.until ?? Number.MAX_VALUE) - (other.until ?? Number.MAX_VALUE));

/** Whether the run has not taken the answer yet. `shown`: its document, or null if it is gone. */
export function isOpenIn(need: Need, shown: Shown | null): boolean {
  if (shown === null || !shown.inProgress) return false;
  switch (need.kind) {
    case "gate":
      return shown.gates.some(({ gate }) => gate === need.gate.gate);
    case "question":
      return shown.waits.some(({ call, asked }) => call === need.question.call && asked === need.question.asked);
    case "unknown":
      return shown.unknown.some(({ call }) => call === need.call.call);
    case "upgrade":
      return shown.waitsFor?.kind === "upgrade";
  }
}

/** Why a text is no JSON document, or the document. */
export function jsonIn(
  text: string,
): { readonly ok: true; readonly json: unknown } | { readonly ok: false; readonly why: string } {
  try {
    return { ok: true, json: JSON.parse(text) as unknown };
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
