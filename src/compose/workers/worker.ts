/** The worker of `cairn work`. It has no fault points. */
import { NO_FAULTS } from "../../ports/fault-point.ts";
import type { WorkerSettings } from "../supervise.ts";
import { startWorker } from "./start-worker.ts";

startWorker({ settings: JSON.parse(process.argv[2] ?? "") as WorkerSettings, env: process.env, inject: NO_FAULTS });
