/**
 * Tells a worker that the system killed for want of memory from one that somebody killed. Both end by SIGKILL, but the system
 * counts its own kills: for the control group of this process, and for the machine.
 */
import { groupFolders } from "./machine-room.ts";
import { textOfFile } from "./proc.ts";

/** Says why a process ended by SIGKILL, once for each kill that the system counted; null: not for want of memory. */
export interface MemoryKills {
  readonly explain: () => string | null;
  /** Kills until now are those of other processes. */
  readonly forget: () => void;
}

export function watchMemoryKills(read: (file: string) => string | null = textOfFile): MemoryKills {
  let known = countsIn(read);
  return {
    explain: () => {
      const more = countsIn(read).filter(({ file, kills }) => kills > (countOf(known, file)?.kills ?? 0));
      const [first] = more;
      if (first === undefined) return null;
      // One kill is counted by its group, by the groups above it and by the machine.
      known = more.reduce((counts, { file, whose }) => {
        const kills = (countOf(counts, file)?.kills ?? 0) + 1;
        return [...counts.filter((each) => each.file !== file), { file, whose, kills }];
      }, known);
      return `${first.whose} had no memory left, and the system killed this process`;
    },
    forget: () => {
      known = countsIn(read);
    },
  };
}

interface Count {
  readonly file: string;
  readonly whose: string;
  readonly kills: number;
}

const countOf = (counts: readonly Count[], file: string): Count | undefined =>
  counts.find((each) => each.file === file);

/** What is counted, the closest first. */
function countsIn(read: (file: string) => string | null): readonly Count[] {
  const groups = read("/proc/self/cgroup") ?? "";
  const files = [
    ...groupFolders(groups, "").map((folder) => `${folder}/memory.events`),
    ...groupFolders(groups, "memory").map((folder) => `${folder}/memory.oom_control`),
    MACHINE,
  ];
  return files.flatMap((file) => {
    const [, kills] = /^oom_kill (\d+)$/m.exec(read(file) ?? "") ?? [];
    const whose = file === MACHINE ? "the machine" : "this container";
    return kills === undefined ? [] : [{ file, whose, kills: Number(kills) }];
  });
}

const MACHINE = "/proc/vmstat";
