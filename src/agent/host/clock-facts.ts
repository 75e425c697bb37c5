import { access, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { DeviceFacts } from "../../protocol/apps/app-report.ts";
import { loadLibc } from "../../lib/libc.ts";

/** systemd-timesyncd makes it when it has set the clock for the first time since the boot. */
const SYNCHRONIZED_FILE = "run/systemd/timesync/synchronized";

/** Where `/etc/localtime` points into, in every layout of the time zone database. */
const ZONE_IN_PATH = /\/zoneinfo\/(?:posix\/|right\/)?(.+)$/;

/** Source: Theory and pragmatics of the tz code and data, section 2. */
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/** `TIME_ERROR` of adjtimex(2): the clock is not synchronised. */
const TIME_ERROR = 5;
/** More than `struct timex` has on any architecture. All zero, it asks for the state and changes nothing. */
const TIMEX_BYTES = 512;

type ClockFacts = Required<Pick<DeviceFacts, "time_zone" | "clock_synced">>;

/**
 * Returns a reader of the time zone and of the state of the clock; `null` for what cannot be read.
 *
 * @param root of the file system
 */
export function clockFactsReader(root = "/"): () => Promise<ClockFacts> {
  let readKernelState: ReturnType<typeof kernelStateReader> | undefined;
  return async () => {
    const [timeZone, hasFile] = await Promise.all([readTimeZone(root), isThere(join(root, SYNCHRONIZED_FILE))]);
    readKernelState ??= kernelStateReader();
    return { time_zone: timeZone, clock_synced: readKernelState() ?? (hasFile ? true : null) };
  };
}

/** The name in `/etc/localtime`, or in `/etc/timezone` where that is a copy. */
async function readTimeZone(root: string): Promise<string | null> {
  // Some systems have a copy, or none.
  const target = await readlink(join(root, "etc/localtime")).catch(() => "");
  const linked = ZONE_IN_PATH.exec(target)?.[1];
  // Absent on most systems.
  const name = linked ?? (await readFile(join(root, "etc/timezone"), "utf8").catch(() => "")).trim();
  return isTimeZone(name) ? name : null;
}

/**
 * Whether the text has the form of a name in the time zone database. Whether there is such a zone, the service finds out: to ask
 * `Intl` takes 8 MB of memory for good.
 */
function isTimeZone(name: string): boolean {
  return name.length <= 64 && ZONE_NAME.test(name);
}

/** Returns a reader of whether the kernel says that the clock is synchronised. The library is loaded when it is first asked. */
export function kernelClockReader(): () => boolean {
  let read: ReturnType<typeof kernelStateReader> | undefined;
  return () => (read ??= kernelStateReader())() === true;
}

/** Returns a reader of whether the kernel says that the clock is synchronised; `undefined` where it may not be asked. */
function kernelStateReader(): () => boolean | undefined {
  const libc = loadLibc({ adjtimex: { arguments: ["pointer"], return: "i32" } });
  if (!libc) return () => undefined;
  return () => {
    const state = Number(libc.adjtimex(Buffer.alloc(TIMEX_BYTES)));
    return state < 0 ? undefined : state !== TIME_ERROR;
  };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
