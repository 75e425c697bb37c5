import type { Value } from "../documents/value.ts";
import { sizeOf } from "./quantities.ts";
import type { Converter } from "./service.ts";

/** Options of a mount in memory that change nothing here, or are the engine's own. */
const DEFAULTS = new Set(["rw", "noexec", "nosuid", "nodev"]);

/** When files were read last is not kept on a device. */
const TIMES = new Set(["noatime", "nodiratime", "relatime", "strictatime", "norelatime", "nostrictatime"]);

/** `/run` or `/run:size=64m,mode=1777`. */
export const convertTmpfs: Converter = (value, service) => {
  for (const item of value.isList ? value.items() : [value]) {
    const text = item.text();
    if (text === undefined) continue;
    const [target = "", options = ""] = text.split(":");
    service.append("tmpfs", tmpfsEntry(target, options, item), item.place);
  }
};

/** Returns a mount in memory. @param value to which problems with the options are added */
export function tmpfsEntry(target: string, options: string, value: Value): Readonly<Record<string, unknown>> {
  const entry: Record<string, unknown> = { target };
  const ids = { uid: "", gid: "" };
  for (const option of options.split(",").filter(Boolean)) readOption(value, option, entry, ids);
  if (ids.uid !== "" || ids.gid !== "") entry["owner"] = `${ids.uid || "0"}:${ids.gid || "0"}`;
  return entry;
}

function readOption(
  item: Value,
  option: string,
  entry: Record<string, unknown>,
  ids: Record<"uid" | "gid", string>,
): void {
  const [name = "", text = ""] = option.split("=");
  if (name === "size") entry["size_bytes"] = sizeOf(text) ?? item.refuse("has a size that is none, such as 64m.");
  else if (name === "mode") entry["mode"] = octal(text) ?? item.refuse("has a mode that is not octal, such as 1777.");
  else if (name === "exec") entry["exec"] = true;
  else if (TIMES.has(name)) item.note(`has the option ${name}, which has no effect here.`);
  else if (name === "uid" || name === "gid") {
    if (/^\d{1,10}$/.test(text)) ids[name] = text;
    else item.refuse(`has a ${name} that is no number.`);
  } else if (!DEFAULTS.has(name))
    item.refuse(`has the option ${name}, which is not supported.`, "Use size, mode, uid, gid and exec.");
}

/** Reads permissions in octal. A number without a leading 0 is decimal in YAML, and refused. */
export function readTmpfsMode(value: Value): string | undefined {
  const text = value.text();
  if (text === undefined) return undefined;
  const isOctal = value.isText || /^0o?[0-7]+$/.test(text);
  const mode = isOctal ? octal(text.replace(/^0o/, "0")) : undefined;
  return mode ?? value.refuse('must be permissions in octal, such as "0440".');
}

function octal(text: string): string | undefined {
  if (!/^0?[0-7]{3,4}$/.test(text)) return undefined;
  return text.length > 4 ? text.slice(-4) : text;
}
