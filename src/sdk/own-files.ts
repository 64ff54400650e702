/** The files of cairn itself, beside those of the project that uses it. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Whether a file is a module of cairn. Its example agents are not. */
export const isOwn = (file: string): boolean => FOLDERS.some((folder) => file.startsWith(folder));

const FOLDERS = ((): readonly string[] => {
  try {
    const root = dirname(fileURLToPath(import.meta.resolve("#package")));
    return ["src", "dist", "infra", "functions", "node_modules"].map((folder) => join(root, folder, "/"));
  } catch {
    // A deployed function has no such folder, and registers no hooks.
    return [];
  }
})();
