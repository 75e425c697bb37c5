import type { Value } from "../documents/value.ts";
import { refuseUnknown } from "./unknown.ts";
import type { ComposeFile, ServiceDraft } from "./service.ts";

/*
 * The volumes that a file defines, and which services share them. How services mount them is in volumes.ts.
 */

/** The path of the device that a volume is bound to by the options of its driver; `undefined` if it is not. */
export function boundPath(volume: Value | undefined): string | undefined {
  const options = volume?.fields().get("driver_opts")?.fields();
  const [type, o, device] = ["type", "o", "device"].map((key) => options?.get(key)?.text());
  const isBind = (type === "none" || type === "bind" || type === undefined) && /\bbind\b/.test(o ?? "");
  return isBind && device?.startsWith("/") ? device : undefined;
}

/** The options of a volume whose driver keeps it in memory; `undefined` for any other. */
export function memoryOptions(volume: Value | undefined): string | undefined {
  const options = volume?.fields().get("driver_opts")?.fields();
  return options?.get("type")?.text() === "tmpfs" ? (options.get("o")?.text() ?? "") : undefined;
}

/** The named volumes that a service writes to, as they are in its fields. */
function written({ fields }: ServiceDraft): { readonly name: string }[] {
  const volumes = (fields["volumes"] ?? []) as { readonly name?: string; readonly readonly: boolean }[];
  return volumes.filter(
    (volume): volume is { readonly name: string; readonly readonly: boolean } =>
      volume.name !== undefined && !volume.readonly,
  );
}

/** Has those volumes shared that several services write to. */
export function shareVolumes(services: readonly ServiceDraft[]): void {
  const writers = new Map<string, Set<string>>();
  for (const service of services) {
    for (const { name } of written(service)) {
      writers.set(name, (writers.get(name) ?? new Set()).add(service.name));
    }
  }
  for (const service of services) {
    for (const volume of written(service)) {
      if ((writers.get(volume.name)?.size ?? 0) > 1) Object.assign(volume, { shared: true });
    }
  }
}

type VolumeSource = { readonly name: string } | { readonly external: string };

/** Volumes belong to the project unless they have a name of their own, as in compose; external ones are not made. */
export function volumeSource(name: string, volume: Value | undefined, { project }: ComposeFile): VolumeSource {
  const fields = volume?.fields();
  const external = fields?.get("external");
  const own = fields?.get("name")?.text();
  // As it was written first: `external: {name: NAME}`.
  if (external?.isMap) return { external: external.fields().get("name")?.text() ?? own ?? name };
  return external?.boolean() ? { external: own ?? name } : { name: own ?? `${project}_${name}` };
}

/** Two volumes with one name are one in compose. Here, the engine's and the agent's of a name are two. */
export function checkVolumeNames(file: ComposeFile): void {
  const first = new Map<string, { readonly key: string; readonly isExternal: boolean }>();
  for (const [key, volume] of file.volumes.used) {
    if (boundPath(volume) !== undefined) continue;
    const source = volumeSource(key, volume, file);
    const isExternal = "external" in source;
    const name = isExternal ? source.external : source.name;
    const other = first.get(name) ?? { key, isExternal };
    first.set(name, other);
    if (other.isExternal === isExternal) continue;
    volume.refuse(
      `has the name ${name}, as volumes.${other.key} has: in compose they are one, but only one of them is external.`,
      "Write `external: true` in both, or in neither.",
    );
  }
}

/** Keeps data where the options of the driver have them, such as on another machine. */
const MADE_THERE =
  "Make the volume on the device with these options (`docker volume create --opt …`), and write `external: true`.";

/**
 * Checks a volume's own definition: the device makes all volumes alike, but for one in memory, which is a part of its service.
 *
 * @param uses how many mounts there are of it
 */
export function checkVolume(volume: Value, uses: number): void {
  for (const [key, value] of volume.fields()) {
    if (key === "name") continue;
    if (key === "labels") value.note("has no effect here.");
    else if (key === "driver") {
      if (value.text() !== "local")
        value.refuse(
          "must be local.",
          "Mount what the driver would bring under a path of the device, and name that path in the service.",
        );
    } else if (key === "driver_opts" && memoryOptions(volume) !== undefined) {
      if (uses > 1) value.refuse("is not supported of a volume that is mounted more than once.", MADE_THERE);
      else value.note("is carried out as a `tmpfs` of the service that mounts the volume.");
    } else if (key === "driver_opts" && boundPath(volume) === undefined) {
      value.refuse("is not supported.", MADE_THERE);
    } else if (key === "external") {
      if (value.isMap) refuseUnknown(value.fields(), ["name"]);
      if (value.isMap || value.boolean())
        value.note(
          "is the engine's volume of this name, which has to be on the device, and which the device must allow (`policy.external_volumes.allow`).",
        );
    } else if (key !== "driver_opts") refuseUnknown(new Map([[key, value]]), ["name", "driver"]);
  }
}
