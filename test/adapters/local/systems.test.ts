/** What differs between Linux, macOS and Windows in the embedded world. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { bootOf } from "../../../src/adapters/local/clock.ts";
import { openStore } from "../../../src/adapters/local/store/database.ts";
import { asStoreError } from "../../../src/adapters/local/store/store-errors.ts";
import { syncFile, syncFolder } from "../../../src/adapters/local/store/sync-path.ts";
import { SystemUnsupported, assertSystem } from "../../../src/adapters/local/system.ts";
import { asSpelled } from "../../../src/compose/catalogue.ts";

const dir = mkdtempSync(join(tmpdir(), "cairn-systems-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe("the boot of the machine", () => {
  const source = (files: Readonly<Record<string, string>>, programs: Readonly<Record<string, string>>) => ({
    readFile: (path: string) => found(files[path]),
    run: (program: string, words: readonly string[]) => found(programs[[program, ...words].join(" ")]),
  });
  const found = (text: string | undefined): string => {
    if (text === undefined) throw new Error("ENOENT");
    return text;
  };

  test.each([
    ["linux", source({ "/proc/sys/kernel/random/boot_id": "b1\n" }, {}), "b1"],
    ["darwin", source({}, { "/usr/sbin/sysctl -n kern.bootsessionuuid": "5F3A\n" }), "5F3A"],
    ["darwin", source({}, {}), ""],
    ["freebsd", source({}, {}), ""],
  ] as const)("on %s has the ID that the system tells, or none", (platform, from, boot) => {
    expect(bootOf(platform, from)).toBe(boot);
  });
});

describe("a power loss", () => {
  test("takes no commit that was waited for, since macOS is told to empty the drive's cache", () => {
    const store = openStore({ dir: join(dir, "store"), create: true });
    try {
      const setting = (name: string): unknown => Object.values(store.rows.prepare(`PRAGMA ${name}`).get() ?? {})[0];
      expect([setting("synchronous"), setting("fullfsync"), setting("checkpoint_fullfsync")]).toEqual([2, 1, 1]);
    } finally {
      store.close();
    }
  });

  const refusing = (code: string) => (): void => {
    throw Object.assign(new Error(code), { code });
  };

  test.each(["EINVAL", "ENOTSUP", "EOPNOTSUPP"])("is not guarded against in folders whose system says %s", (code) => {
    expect(() => syncFolder(dir, refusing(code))).not.toThrow();
    expect(() => syncFile(dir, refusing(code))).toThrow(code);
  });

  test("is guarded against everywhere else, so a failing disk is an error", () => {
    expect(() => syncFolder(dir, refusing("EIO"))).toThrow("EIO");
    expect(() => syncFolder(dir)).not.toThrow();
  });
});

describe("the path of an agent's file", () => {
  const spelled = "/srv/desk/agents/Travel.ts";

  test("is spelled as the file system spells it, where the case of letters does not matter", () => {
    expect(asSpelled("/srv/desk/AGENTS/travel.ts", () => spelled)).toBe(spelled);
  });

  test("stays as it was typed where it leads over a link", () => {
    expect(asSpelled("/tmp/agents/a.ts", () => "/private/tmp/agents/a.ts")).toBe("/tmp/agents/a.ts");
  });
});

test("a store on a disk without hard links is refused, with what to do", () => {
  const error = Object.assign(new Error("ENOTSUP: operation not supported, link"), { code: "ENOTSUP" });
  expect(asStoreError(error, "/Volumes/STICK/.cairn")).toMatchObject({
    name: "StoreUnreachable",
    message: expect.stringMatching(/its file system has no hard links .+; use a directory on another disk/),
  });
});

describe("Windows", () => {
  test("is refused by the embedded store, with what to do", () => {
    expect(() => assertSystem("win32")).toThrow(SystemUnsupported);
    expect(() => assertSystem("win32")).toThrow(/use cairn inside of WSL 2 \(wsl --install\)/);
    for (const platform of ["linux", "darwin", "freebsd"] as const) expect(() => assertSystem(platform)).not.toThrow();
  });

  test("is refused by the command line before it loads anything", () => {
    const windows = 'data:text/javascript,Object.defineProperty(process, "platform", { value: "win32" })';
    const main = join(import.meta.dirname, "..", "..", "..", "src", "cli", "main.ts");
    const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", windows, main, "list"], {
      cwd: dir,
      encoding: "utf8",
    });
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^error SystemUnsupported: cairn .+ this is Windows\nwhy: .+\nnext: wsl --install.*\n$/);
    expect(status).toBe(2);
  });
});
