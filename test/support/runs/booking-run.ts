/** A pipeline whose second stage books and whose gate refuses its first output, and the desk that it books at. */
import { expect } from "vitest";
import { z } from "zod";
import { type Conversation, type ScriptedReply, pipeline, tool } from "../../../src/index.ts";
import { decide } from "../../../src/operations/decide.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { type Shown, show } from "../../../src/operations/views.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import type { Harness } from "../harness/harness.ts";
import { roleAgent } from "./topology-run.ts";
import { MS } from "../harness/harness.ts";

const FLIGHT = z.object({ flight: z.string(), seats: z.number().default(1) });

/** The desk knows each key: it books once under it, and a cancelled key stays cancelled. */
export class Desk {
  readonly log: string[] = [];
  readonly bookings = new Map<string, { readonly flight: string; cancelled: boolean }>();

  book(key: string, flight: string): string {
    if (!this.bookings.has(key)) {
      this.log.push(`book ${flight}`);
      this.bookings.set(key, { flight, cancelled: false });
    }
    return flight;
  }

  cancel(key: string): void {
    const booking = this.bookings.get(key);
    if (booking === undefined || booking.cancelled) return;
    this.log.push(`cancel ${booking.flight}`);
    booking.cancelled = true;
  }

  get standing(): readonly string[] {
    return [...this.bookings.values()].filter(({ cancelled }) => !cancelled).map(({ flight }) => flight);
  }
}

export type Rules = Partial<Omit<Parameters<typeof tool<typeof FLIGHT>>[0], "input" | "run">>;

export const bookingTool = (desk: Desk, rules: Rules): Tool =>
  tool({
    ...{ input: FLIGHT, effect: "keyed" },
    run: ({ input: { flight }, key }) => desk.book(key, flight),
    ...rules,
  }) as Tool;

export const undoBy = (desk: Desk): Rules => ({ undo: { effect: "keyed", run: ({ of }) => desk.cancel(of.key) } });

/** The flights that each run of the stage books, one call after the other. */
type Flights = (isAgain: boolean) => readonly object[];
const BOTH: Flights = () => [{ flight: "LH1" }, { flight: "LH2" }];
export const ONE: Flights = () => [{ flight: "LH1" }];

/** The second of two stages books, and its gate refuses the first output. */
export function booking(
  desk: Desk,
  of: {
    readonly rules?: Rules;
    readonly flights?: Flights;
    readonly onRollBack?: "undo" | "keep";
    /** The tool of the second stage. `mail` has no undo. */
    readonly second?: "book" | "mail";
  } & Partial<Pick<Parameters<typeof roleAgent>[1], "budget" | "deadline" | "saga">> = {},
): Agent {
  const { rules = {}, flights = BOTH, onRollBack, second = "book", ...rest } = of;
  const { agent } = roleAgent(
    pipeline({
      stages: [
        { name: "read", instructions: "Read.", tools: ["book"], gate: () => true },
        {
          ...{ name: "book", instructions: "Book.", tools: [second] },
          gate: ({ output }) => output.startsWith("again") || "it is too early",
        },
      ],
      ...(onRollBack && { onRollBack }),
    }),
    {
      reply: ({ instructions, messages, calls }: Conversation): ScriptedReply => {
        if (instructions.includes("Read.")) {
          return calls.length === 0 ? { calls: [{ tool: "book", args: { flight: "LH0" } }] } : { text: "read" };
        }
        const isAgain = messages.some(({ text }) => text.includes("not accepted"));
        const next = flights(isAgain)[calls.length];
        if (next !== undefined) return { calls: [{ tool: second, args: next as never }] };
        const results = calls.map(({ result }) => JSON.stringify(result));
        return { text: `${isAgain ? "again" : "first"} ${results.join(" ")}` };
      },
      tools: { book: bookingTool(desk, rules), mail: bookingTool(desk, {}) },
      ...rest,
    },
  );
  return agent;
}

interface Played {
  readonly harness: Harness;
  readonly run: string;
}

/** The run goes on after a word of an operator. */
export async function goOn({ harness, run }: Played, agent: Agent): Promise<Shown | null> {
  await harness.runForTime([agent], MS.hour);
  return show(harness.world, run);
}

export const answer = async (
  { harness, run }: Played,
  call: string,
  as: "succeeded" | "failed" | "retry",
): Promise<void> => {
  const said = { run, call, as, result: null, by: "ann", note: null };
  expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
};

export const decideOn = async (
  { harness, run }: Played,
  shown: Shown | null,
  as: "approve" | "deny",
): Promise<void> => {
  const [gate] = shown?.gates ?? [];
  expect(gate?.reason).toMatch(/^AlreadyActed: c\d did the same in work that is repeated, and it stands/);
  const said = { run, call: gate?.call ?? "", gate: gate?.gate ?? "", as, args: null, by: "ann", note: null };
  expect(await decide(harness.world, said)).toMatchObject({ kind: "accepted" });
};
