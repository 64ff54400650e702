/** Starts and stops LocalStack on this machine: as processes where they can be installed, else in a container. */
import { setTimeout as elapse } from "node:timers/promises";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { hasEngine, removeContainers, startContainer } from "./docker.ts";
import { IS_INSTALLABLE, defaultDir, install } from "./install.ts";
import { type Instance, endProcesses, instanceOf, isReady, startProcesses } from "./server.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface Running extends Instance {
  /** The folder in which the travel agent's services keep their files. Functions and all other processes see it. */
  readonly services: string;
  /** It answered before this call. */
  readonly wasUp: boolean;
}

const CONTAINER_READY_MS = 180_000;

/** Starts LocalStack if it does not answer. It answers on return. */
export async function up(env: Env, say: (line: string) => void): Promise<Running> {
  const { dir, instance } = placeOf(env);
  const services = join(dir, `services-${instance.port}`);
  if (await isReady(instance.url)) return { ...instance, services, wasUp: true };
  mkdirSync(services, { recursive: true });
  if (isDocker(env)) {
    startContainer(instance, services);
    await ready(instance.url);
  } else {
    await startProcesses(install(dir, say), instance);
  }
  return { ...instance, services, wasUp: false };
}

/** Installs what `up` would install first. In a container that is nothing. */
export function prepare(env: Env, say: (line: string) => void): void {
  if (!isDocker(env)) install(placeOf(env).dir, say);
}

/** Stops LocalStack. Returns how many processes or containers there were. */
export async function down(env: Env): Promise<number> {
  const { instance } = placeOf(env);
  const processes = await endProcesses(instance);
  return isDocker(env) ? processes + removeContainers(instance) : processes;
}

function placeOf(env: Env): { readonly dir: string; readonly instance: Instance } {
  const dir = defaultDir(env);
  return { dir, instance: instanceOf(dir, Number(env["LS_PORT"] || 4566)) };
}

/**
 * Whether LocalStack runs in its vendor's image. By default only where its packages cannot be installed: in the image,
 * DynamoDB has no open-source licence and nothing is refused by AWS's quotas.
 */
export const isDocker = (env: Env, isInstallable: boolean = IS_INSTALLABLE): boolean =>
  env["LS_HOST"] === "docker" || (env["LS_HOST"] !== "process" && !isInstallable && hasEngine());

async function ready(url: string): Promise<void> {
  const late = performance.now() + CONTAINER_READY_MS;
  while (!(await isReady(url))) {
    if (performance.now() > late) throw new Error(`the container of LocalStack does not answer at ${url}`);
    await elapse(200);
  }
}
