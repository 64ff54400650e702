/**
 * LocalStack in a container, for systems without pinned packages. The image contains DynamoDB Local and Java, and
 * functions run in AWS's own Lambda images. The tag is pinned, since later images need an account.
 */
import { spawnSync } from "node:child_process";
import type { Instance } from "./server.ts";

const IMAGE = "localstack/localstack:4.14.0";

/** True if a Docker engine answers; a Docker client alone is not enough. */
export function hasEngine(): boolean {
  const { status, stdout } = spawnSync("docker", ["info", "--format", "{{.ServerVersion}}"], { encoding: "utf8" });
  return status === 0 && stdout.trim() !== "";
}

/** Starts the container. `shared` is a folder that functions see under its own path. */
export function startContainer(instance: Instance, shared: string): void {
  removeContainers(instance);
  const { port } = instance;
  const name = nameOf(port);
  const env = {
    MAIN_CONTAINER_NAME: name,
    LOCALSTACK_HOST: `127.0.0.1:${port}`,
    DISABLE_EVENTS: "1",
    PROVIDER_OVERRIDE_DYNAMODB: "v2",
    LAMBDA_DOCKER_FLAGS: `--volume ${shared}:${shared}`,
  };
  docker([
    ...["run", "--detach", "--rm", "--name", name, "--publish", `127.0.0.1:${port}:4566`],
    ...["--volume", "/var/run/docker.sock:/var/run/docker.sock"],
    ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
    IMAGE,
  ]);
}

/** Removes the container and those of its functions, which outlive it. Returns how many there were. */
export function removeContainers({ port }: Instance): number {
  const name = nameOf(port);
  const found = docker(["ps", "--all", "--format", "{{.Names}}", "--filter", `name=^${name}(-lambda-.*)?$`]);
  const names = found.split("\n").filter((each) => each !== "");
  if (names.length > 0) docker(["rm", "--force", "--volumes", ...names]);
  return names.length;
}

const nameOf = (port: number): string => `cairn-localstack-${port}`;

function docker(words: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync("docker", words, { encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(`docker ${words[0]} failed: ${error?.message ?? stderr.trim()}`);
}
