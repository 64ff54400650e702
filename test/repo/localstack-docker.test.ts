/** What a Docker engine is asked for, as an engine that only takes notes hears it. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isDocker } from "../../localstack/up.ts";
import { hasEngine, removeContainers, startContainer } from "../../localstack/docker.ts";
import { instanceOf } from "../../localstack/server.ts";

/** A `docker` in front of any other one. `info` and `ps` answer as told; every call leaves a line. */
function dockerSaying(of: {
  readonly version: string;
  readonly ps?: string;
  readonly fails?: string;
}): () => readonly string[] {
  const dir = mkdtempSync(join(tmpdir(), "cairn-docker-"));
  const notes = join(dir, "notes");
  writeFileSync(notes, "");
  writeFileSync(
    join(dir, "docker"),
    `#!/bin/sh
echo "$*" >> ${notes}
case $1 in
  info) printf '%s' '${of.version}' ;;
  ps) printf '%s' '${of.ps ?? ""}' ;;
  ${of.fails ?? "nothing"}) echo "no space left" >&2; exit 125 ;;
esac
`,
  );
  chmodSync(join(dir, "docker"), 0o755);
  vi.stubEnv("PATH", [dir, process.env["PATH"]].join(delimiter));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(dir, { recursive: true });
  });
  return () => readFileSync(notes, "utf8").trim().split("\n");
}

const instance = instanceOf("/tmp/cairn", 4577);

describe("Docker", () => {
  test("is used when an engine responds, not when only its client exists", () => {
    dockerSaying({ version: "28.2.2\n" });
    expect(hasEngine()).toBe(true);
    dockerSaying({ version: "\n" });
    expect(hasEngine()).toBe(false);
    vi.stubEnv("PATH", "/nowhere");
    expect(hasEngine()).toBe(false);
  });

  test("is used by default only where the packages cannot be installed", () => {
    dockerSaying({ version: "28.2.2\n" });
    expect([isDocker({}, true), isDocker({}, false)]).toEqual([false, true]);
    expect([isDocker({ LS_HOST: "docker" }, true), isDocker({ LS_HOST: "process" }, false)]).toEqual([true, false]);
    dockerSaying({ version: "\n" });
    expect(isDocker({}, false)).toBe(false);
  });

  test("runs the pinned image on loopback, and shows functions the shared folder", () => {
    const notes = dockerSaying({ version: "28.2.2", ps: "cairn-localstack-4577" });
    startContainer(instance, "/tmp/cairn/services");
    const [, first, run] = notes();
    expect(first).toBe("rm --force --volumes cairn-localstack-4577");
    expect(run).toMatch(/^run --detach --rm --name cairn-localstack-4577 --publish 127\.0\.0\.1:4577:4566 /);
    expect(run).toContain("--volume /var/run/docker.sock:/var/run/docker.sock");
    expect(run).toContain("--env LAMBDA_DOCKER_FLAGS=--volume /tmp/cairn/services:/tmp/cairn/services");
    expect(run).toMatch(/ localstack\/localstack:4\.14\.0$/);
  });

  test("ends its container and the containers of the functions, which outlive it", () => {
    const names = ["cairn-localstack-4577", "cairn-localstack-4577-lambda-cairn-beat-1"];
    const notes = dockerSaying({ version: "28.2.2", ps: names.join("\n") });
    expect(removeContainers(instance)).toBe(2);
    expect(notes().at(-1)).toBe(`rm --force --volumes ${names.join(" ")}`);
  });

  test("reports what it could not do", () => {
    dockerSaying({ version: "28.2.2", fails: "run" });
    expect(() => startContainer(instance, "/tmp/x")).toThrow("docker run failed: no space left");
  });
});
