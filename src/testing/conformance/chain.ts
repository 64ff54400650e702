/**
 * The contract of the Chain port: an execution starts once, and a token wakes one execution once. Other tests, with
 * whole histories, show that each execution is driven to its end.
 */
import type { Payload } from "../../protocol/chain.ts";
import type { Chain, StartOutcome } from "../../ports/chain.ts";
import { type Case, must, mustEqual } from "./case.ts";
import { times } from "./run.ts";

/** What the chain cases need of a world. */
export interface ChainWorld {
  readonly chain: Chain;
  /** A run that no other case and no earlier round uses; its executions are named after it. */
  readonly run: string;
  /** Parks that execution and returns the token on which it waits. */
  readonly park: (execution: string) => Promise<string>;
  /** Ends that execution. */
  readonly end: (execution: string) => Promise<void>;
}

const BORN = "aaaaaaaaaa";

const payloadOf = ({ run }: ChainWorld): Payload => ({ run, born: BORN, chain: 1, epoch: 0, agent: "clerk" });

/** A caller that starts it again while it goes on may be told so either way. */
const goesOn = (outcome: StartOutcome): boolean => outcome.kind === "started" || outcome.running;

/** The contract of the port `Chain`. */
export const chainCases: readonly Case<ChainWorld>[] = [
  {
    name: "starts an execution once, and answers a second start that it is running",
    run: async (world) => {
      const [one, other] = [`${world.run}-${BORN}-1`, `${world.run}-${BORN}-2`];
      mustEqual(await world.chain.start(one, payloadOf(world)), { kind: "started" }, "the first start");
      must(
        goesOn(await world.chain.start(one, payloadOf(world))),
        "a second start answers that the execution is running",
      );
      mustEqual((await world.chain.start(other, payloadOf(world))).kind, "started", "the start of another");
    },
  },
  {
    name: "starts one execution when 50 starts run at once",
    run: async (world) => {
      const name = `${world.run}-${BORN}-1`;
      const outcomes = await Promise.all(times(50, () => world.chain.start(name, payloadOf(world))));
      must(outcomes.every(goesOn), "each start answers that the execution is running");
      must(
        outcomes.some(({ kind }) => kind === "started"),
        "a start gets `started`",
      );
      const token = await world.park(name);
      must(token.length > 0, "the one that was started can park");
    },
  },
  {
    name: "never starts an ended execution again",
    run: async (world) => {
      const name = `${world.run}-${BORN}-1`;
      await world.chain.start(name, payloadOf(world));
      await world.end(name);
      mustEqual(await world.chain.start(name, payloadOf(world)), { kind: "exists", running: false }, "the next start");
    },
  },
  {
    name: "a token wakes an execution once, and a used or unknown token wakes none",
    run: async (world) => {
      const name = `${world.run}-${BORN}-1`;
      await world.chain.start(name, payloadOf(world));
      mustEqual(await world.chain.wake("a token of no run"), { kind: "awake" }, "an unknown token");
      const token = await world.park(name);
      must(token.length > 0, "a token is not empty");
      mustEqual(await world.chain.wake(token), { kind: "woken" }, "the first wake");
      mustEqual(await world.chain.wake(token), { kind: "awake" }, "the second wake");
    },
  },
];
