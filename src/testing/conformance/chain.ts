/**
 * Chain, as far as its port shows it: what starts once starts once, and a token wakes one execution once. That each
 * execution is driven to its end is shown by whole histories, not here.
 */
import type { Payload } from "../../protocol/chain.ts";
import type { Chain, StartOutcome } from "../../ports/chain.ts";
import { type Case, must, mustEqual } from "./case.ts";
import { times } from "./run.ts";

export interface ChainWorld {
  readonly chain: Chain;
  /** A run that no other case and no earlier round has; its executions are named after it. */
  readonly run: string;
  /** Brings that execution to where it waits on a token, and returns the token. */
  readonly park: (execution: string) => Promise<string>;
  /** Brings that execution to its end. */
  readonly end: (execution: string) => Promise<void>;
}

const BORN = "aaaaaaaaaa";

const payloadOf = ({ run }: ChainWorld): Payload => ({ run, born: BORN, chain: 1, epoch: 0, agent: "clerk" });

/** A caller that starts it again while it goes on may be told so either way. */
const goesOn = (outcome: StartOutcome): boolean => outcome.kind === "started" || outcome.running;

export const chainCases: readonly Case<ChainWorld>[] = [
  {
    name: "an execution starts once, and a second start says that it goes on",
    run: async (world) => {
      const [one, other] = [`${world.run}-${BORN}-1`, `${world.run}-${BORN}-2`];
      mustEqual(await world.chain.start(one, payloadOf(world)), { kind: "started" }, "the first start");
      must(goesOn(await world.chain.start(one, payloadOf(world))), "a second start says that it goes on");
      mustEqual((await world.chain.start(other, payloadOf(world))).kind, "started", "the start of another");
    },
  },
  {
    name: "of 50 starts at once one starts, and each says that it goes on",
    run: async (world) => {
      const name = `${world.run}-${BORN}-1`;
      const outcomes = await Promise.all(times(50, () => world.chain.start(name, payloadOf(world))));
      must(outcomes.every(goesOn), "a start says that it goes on");
      must(
        outcomes.some(({ kind }) => kind === "started"),
        "a start was told `started`",
      );
      const token = await world.park(name);
      must(token.length > 0, "the one that was started can park");
    },
  },
  {
    name: "a name is spent for ever: an ended execution is not started again",
    run: async (world) => {
      const name = `${world.run}-${BORN}-1`;
      await world.chain.start(name, payloadOf(world));
      await world.end(name);
      mustEqual(await world.chain.start(name, payloadOf(world)), { kind: "exists", running: false }, "the next start");
    },
  },
  {
    name: "a token wakes once, and a dead or unknown one wakes nobody",
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
