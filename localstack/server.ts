/**
 * One LocalStack on this machine, without Docker: starts it, finds it again, and ends it with every process that
 * belongs to it. Each port is a separate instance with its own folder. LocalStack keeps everything in memory, so a
 * graceful end gains nothing: it is killed.
 *
 * A process belongs to an instance if it is of one of the three kinds below and was started with that instance's folder
 * in its environment. This also finds what a dead LocalStack left behind: its DynamoDB outlives it, and its functions
 * are frozen between invocations and cannot notice that it is gone.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as elapse } from "node:timers/promises";
import type { Installation } from "./install.ts";

export interface Instance {
  readonly port: number;
  readonly url: string;
  /** The folder for everything that it writes. */
  readonly folder: string;
}

export const instanceOf = (dir: string, port: number): Instance => ({
  port,
  url: `http://127.0.0.1:${port}`,
  folder: join(dir, `instance-${port}`),
});

const START_MS = 90_000;
const LOOK_EVERY_MS = 50;

/** Starts an instance, after it has removed what an earlier one left. The instance is ready on return. */
export async function startProcesses({ python }: Installation, instance: Instance): Promise<void> {
  const { folder, url } = instance;
  await endProcesses(instance);
  rmSync(folder, { recursive: true, force: true });
  for (const dir of ["root", "tmp"]) mkdirSync(join(folder, dir), { recursive: true });
  const log = join(folder, "output.txt");
  const output = openSync(log, "a");
  const child = spawn(python, ["-m", "localstack.runtime.main"], {
    detached: true,
    stdio: ["ignore", output, output],
    env: { ...process.env, ...environmentOf(instance) },
  });
  closeSync(output);
  let isGone = false;
  child.once("exit", () => (isGone = true)).once("error", () => (isGone = true));
  child.unref();
  const late = performance.now() + START_MS;
  while (!(await isReady(url))) {
    if (isGone || performance.now() > late) {
      await endProcesses(instance);
      const said = readFileSync(log, "utf8").trimEnd().split("\n").slice(-15).join("\n");
      throw new Error(`LocalStack did not start; the end of ${log}:\n${said}`);
    }
    await elapse(LOOK_EVERY_MS);
  }
}

/** `LOCALSTACK_HOST` is an address: with `localhost`, S3 would use host names that no DNS server resolves. */
function environmentOf({ port, folder }: Instance): Readonly<Record<string, string>> {
  const address = `127.0.0.1:${port}`;
  return {
    [MARK]: folder,
    FILESYSTEM_ROOT: join(folder, "root"),
    TMPDIR: join(folder, "tmp"),
    GATEWAY_LISTEN: address,
    LOCALSTACK_HOST: address,
    // If there is a /.dockerenv, LocalStack would act as in its own image and listen to the whole network.
    OVERRIDE_IN_DOCKER: "0",
    LAMBDA_RUNTIME_EXECUTOR: "process",
    LAMBDA_PROCESS_NODE: process.execPath,
    // Without a limit, warm processes that are no longer used would add up.
    LAMBDA_KEEPALIVE_MS: "120000",
    // Streams come from the DynamoDB behind it; the other provider would fetch a Kinesis from npm.
    PROVIDER_OVERRIDE_DYNAMODB: "v2",
    SQS_ENDPOINT_STRATEGY: "path",
    // No request leaves this machine.
    SKIP_SSL_CERT_DOWNLOAD: "1",
    DISABLE_EVENTS: "1",
    DNS_ADDRESS: "0",
    AWS_EC2_METADATA_DISABLED: "true",
    API_ENDPOINT: "http://127.0.0.1:9",
  };
}

const MARK = "CAIRN_LOCALSTACK_FOLDER";

export async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/_localstack/health`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

/** Kills every process of the instance until none is left. Returns how many there were. */
export async function endProcesses(instance: Instance): Promise<number> {
  const ended = new Set<number>();
  for (let pids = belongingTo(instance); pids.length > 0; pids = belongingTo(instance)) {
    for (const pid of pids) {
      ended.add(pid);
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has already ended.
      }
    }
    await elapse(LOOK_EVERY_MS);
  }
  return ended.size;
}

const belongingTo = ({ folder }: Instance): readonly number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => KIND.test(read(pid, "cmdline")) && isMarked(read(pid, "environ"), folder))
    .map(Number);

/** Matches LocalStack, its DynamoDB, and a Lambda function. */
const KIND = /localstack\.runtime\.main|-m\0ministack|localstack_process_executor\/client\.ts/;

const isMarked = (environ: string, folder: string): boolean =>
  environ
    .split("\0")
    .some(
      (each) => each === `${MARK}=${folder}` || each.startsWith(`TMPDIR=${folder}/`) || each === `TMPDIR=${folder}`,
    );

/** A file of a process; empty if the process is gone, is not yet reaped, or belongs to another user. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(join("/proc", pid, file), "utf8");
  } catch {
    return "";
  }
}
