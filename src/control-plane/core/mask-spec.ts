import { contentBytes } from "../../protocol/app-files.ts";
import { mapAppliedApps } from "../../protocol/applied-apps.ts";

const MASK = "***";

/**
 * Returns the specification, or the group, with the values of `environments` masked, since they may be secrets, and no
 * contents of files.
 */
export function maskSpec(spec: unknown): unknown {
  return mapAppliedApps(maskApp(spec), maskApp);
}

function maskApp(spec: unknown): unknown {
  return typeof spec === "object" && spec !== null ? maskValues(withoutContents(spec), () => true) : spec;
}

/** Returns the specification with the values masked that are declared secret, whatever the device did. */
export function maskDeclaredSecrets<T extends object>(spec: T): T {
  return maskValues(withoutContents(spec), (entry) => "secret" in entry && entry.secret === true);
}

/** Returns the specification with the sizes of files in place of their contents. */
function withoutContents<T extends object>(spec: T): T {
  if (!("files" in spec) || !Array.isArray(spec.files)) return spec;
  return { ...spec, files: spec.files.map(withoutContent) };
}

function withoutContent(file: unknown): unknown {
  if (typeof file !== "object" || file === null) return file;
  const { content, content_base64, ...rest } = file as Readonly<Record<string, unknown>>;
  const size = contentBytes({
    ...(typeof content === "string" && { content }),
    ...(typeof content_base64 === "string" && { content_base64 }),
  });
  return size === undefined ? rest : { ...rest, size };
}

function maskValues<T extends object>(spec: T, isMasked: (entry: object) => boolean): T {
  if (!("environments" in spec) || !Array.isArray(spec.environments)) return spec;
  const environments = spec.environments.map((entry: unknown) => {
    const mustMask = typeof entry === "object" && entry !== null && "value" in entry && isMasked(entry);
    return mustMask ? { ...entry, value: MASK } : entry;
  });
  return { ...spec, environments };
}
