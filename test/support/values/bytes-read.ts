/** How many bytes a synchronous access read from files, as the system counts them for this thread. */
import { readFileSync } from "node:fs";

/** What two reads of the counter itself add. */
const OWN_BYTES_MAX = 1_024;

/** The bytes that `access` read. SQLite reads each page that it has not in memory, so a new connection shows what an access needs. */
export async function bytesRead(access: () => unknown): Promise<number> {
  const before = counter();
  await access();
  return Math.max(0, counter() - before - OWN_BYTES_MAX);
}

function counter(): number {
  const [, bytes] = /^rchar: (\d+)$/m.exec(readFileSync("/proc/thread-self/io", "utf8")) ?? [];
  if (bytes === undefined) throw new Error("this system counts no bytes of a thread");
  return Number(bytes);
}
