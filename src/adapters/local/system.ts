/**
 * The systems on which the embedded store can be used. A supervisor kills a stuck worker with everything that it started:
 * it needs process groups, and the start time of a process, which Windows does not give.
 */

/** This system cannot run the workers of an embedded store. Nothing was touched. */
export class SystemUnsupported extends Error {
  override readonly name = "SystemUnsupported";
  readonly code = "SystemUnsupported";
}

/** @throws SystemUnsupported on Windows */
export function assertSystem(platform: NodeJS.Platform = process.platform): void {
  if (platform !== "win32") return;
  throw new SystemUnsupported(
    "the embedded store runs on Linux and macOS, and this is Windows, which has no process groups; " +
      "use cairn inside of WSL 2 (wsl --install)",
  );
}
