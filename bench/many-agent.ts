/** The agent of `many.ts`, in a file of its own since worker processes load it. The environment sizes it. */
import { sized } from "./workload.ts";

const { BENCH_BEATS = "20", BENCH_REPLY_MS = "0" } = process.env;

export const { agent } = sized({ beats: Number(BENCH_BEATS), replyMs: Number(BENCH_REPLY_MS) });
