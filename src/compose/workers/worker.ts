/** The worker of `cairn work`. It has no fault points. Without an argument its settings come as its first message. */
import { NO_FAULTS } from "../../ports/fault-point.ts";
import type { WorkerSettings } from "../supervise.ts";
import { startWorker } from "./start-worker.ts";

const begin = (settings: string): void =>
  startWorker({ settings: JSON.parse(settings) as WorkerSettings, env: process.env, inject: NO_FAULTS });

const [, , given] = process.argv;
if (given !== undefined) begin(given);
else process.once("message", ([settings = ""]: readonly string[]) => begin(settings));
