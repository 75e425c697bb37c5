import { isDeepStrictEqual } from "node:util";
import { comparable, type Inspected } from "./inspected.ts";

/**
 * Says where what an app can notice differs from the container of docker-compose: ports of the device are mapped, and what
 * compose mounts from beside the file comes with the app.
 *
 * @param directory the compose file's
 */
export function differences(composed: Inspected, own: Inspected, directory: string): string[] {
  const [first, second] = [noticed(composed), noticed(own)];
  const keys = Object.keys(first).filter((key) => !isDeepStrictEqual(first[key], second[key]));
  return [
    ...keys.map((key) => `${key}: ${JSON.stringify(first[key])} with compose, ${JSON.stringify(second[key])} here`),
    ...mountDifferences(composed.Mounts, own.Mounts, directory),
  ];
}

function noticed(inspected: Inspected): Readonly<Record<string, unknown>> {
  const { Mounts: _apart, PortBindings: ports, ...others } = comparable(inspected);
  const bindings = Object.entries((ports ?? {}) as Record<string, readonly { readonly HostIp?: string }[]>);
  const published = bindings.map(([port, at]) => `${port} ${at.map(({ HostIp = "" }) => HostIp).join()}`);
  return { ...others, published: published.toSorted() };
}

type Mounts = Inspected["Mounts"];

function mountDifferences(theirs: Mounts, ours: Mounts, directory: string): string[] {
  return theirs.flatMap(({ Type, Source, Destination, RW }) => {
    const path = String(Destination);
    if (String(Source).startsWith(`${directory}/`)) {
      const isMounted = ours.some((mount) => `${String(mount["Destination"])}/`.startsWith(`${path}/`));
      return isMounted ? [] : [`nothing is mounted at ${path} here`];
    }
    const mount = ours.find((other) => other["Destination"] === Destination);
    // Volumes are named otherwise.
    const isSame =
      mount?.["Type"] === Type && mount?.["RW"] === RW && (Type === "volume" || mount?.["Source"] === Source);
    return isSame
      ? []
      : [`${path} is ${JSON.stringify({ Type, Source, RW })} with compose, ${JSON.stringify(mount)} here`];
  });
}
