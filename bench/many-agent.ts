/**
 * The agent of `many.ts`, in a file of its own since worker processes load it. The environment sizes it, and names the
 * file for the times at which the beats of a single run began.
 */
import { writeFileSync } from "node:fs";
import { sized } from "./workload.ts";

const { BENCH_BEATS = "20", BENCH_REPLY_MS = "0", BENCH_MARKS = "" } = process.env;
const beats = Number(BENCH_BEATS);
const marks: number[] = [];

function called(turn: number): void {
  marks.push(performance.now());
  if (turn === beats && BENCH_MARKS !== "") writeFileSync(BENCH_MARKS, JSON.stringify(marks.slice(-beats - 1)));
}

export const { agent } = sized({ beats, replyMs: Number(BENCH_REPLY_MS), called });
