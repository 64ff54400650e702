import { existsSync, mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes the folder and those above it that are missing. `mkdir` with `recursive` never returns where the system says
 * that a folder exists and has no entry for another one, as below `/proc`.
 */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process made it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
