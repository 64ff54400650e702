/** What a boss is told, and what it remembers. */
import { BOUNDS } from "../../../core/limits.ts";
import type { RoleOptions } from "../debate/core.ts";
import type { HandOffCaps } from "./core-hand-offs.ts";
import { BATCH_MAX, type Item, type Pass } from "./core-merge-layer.ts";
import { problemOfRange, problemsOfRoles } from "../../../core/topologies/problems.ts";
import type { Shape } from "../../../core/topologies/topology.ts";

export interface BossOptions extends Shape, HandOffCaps {
  /** Plans the hand-offs. `tools`: what it may call itself besides; default: nothing. */
  readonly boss: RoleOptions & { readonly tools?: readonly string[] };
  /** Writes the answer from the memos. */
  readonly merger: RoleOptions;
  /** How many times the boss may hand out work. All hand-offs of one reply are one round. */
  readonly rounds: number;
  /** How many memos or summaries one section shows at most. */
  readonly batch: number;
  /** The workers that are left once the boss was a bottleneck: those that are bosses themselves. */
  readonly shards?: readonly string[];
}

export type BossProgress = {
  readonly role: "boss" | "summary" | "merger";
  /** Complete rounds: their hand-offs are settled. */
  readonly round: number;
  /** The calls of settled hand-offs: those with a memo, and those whose every try failed. */
  readonly memos: readonly string[];
  readonly lost: readonly string[];
  /** Calls whose work was not handed out, and is missing unless it is handed out again. */
  readonly unmade: readonly string[];
  /** What the answer is made of: memos, and summaries of memos. */
  readonly items: readonly Item[];
  /** The pass of summaries that is under way. */
  readonly pass: Pass | null;
  /** Replies in a row without a hand-off, before the first one. */
  readonly idle: number;
  /** How often checks refused the merged answer. */
  readonly refused: number;
  /** What a user or the definition of done wants besides. */
  readonly wish: string;
  /** The boss was a bottleneck, and hands out work to shards alone. */
  readonly sharded: boolean;
};

/** All child tools by which a boss hands out work. */
export const workersOf = ({ workers, shards = [] }: BossOptions): readonly string[] => [...workers, ...shards];

/** No further round: rounds or hand-offs are used up. */
export const isOver = ({ round, memos, lost }: BossProgress, { rounds, handOffsMax }: BossOptions): boolean =>
  round >= rounds || memos.length + lost.length >= handOffsMax;

/** Its rounds are used up, and each call in them was refused. So the boss does the work without its workers. */
export const isAlone = (progress: BossProgress, options: BossOptions): boolean =>
  progress.role === "boss" && progress.items.length === 0 && isOver(progress, options);

/** What is wrong with the options that every boss has. They may come from JavaScript. */
export function bossProblems({ workers, boss, merger, ...caps }: BossOptions): readonly string[] {
  if (!Array.isArray(workers) || workers.length === 0) return ["write workers: the names of child tools"];
  const ranges = Object.entries(RANGES) as [keyof typeof RANGES, readonly [number, number]][];
  return [
    ...problemsOfRoles({ boss, merger }),
    ...ranges.flatMap(([name, range]) => problemOfRange(name, caps[name], range)),
  ];
}

const RANGES = {
  rounds: [1, 20],
  handOffsMax: [1, 200],
  fanOut: [1, BOUNDS.childrenMax],
  batch: [2, BATCH_MAX],
} as const;
