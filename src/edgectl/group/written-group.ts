import type { Place } from "../documents/node.ts";

/** A port of an app before it has a host port. */
export interface WrittenPort {
  /** As the file says. `undefined`: the file leaves it open. */
  readonly hostPort: number | undefined;
  readonly targetPort: number;
  readonly protocol: "tcp" | "udp";
  /** Address of the device; `undefined` for all. */
  readonly hostAddress?: string | undefined;
  /** Such as `services.web.ports[0]`. */
  readonly path: string;
  readonly place: Place;
}

export interface WrittenDependency {
  readonly app: string;
  readonly condition: "started" | "healthy" | "completed";
  readonly place: Place;
}

/** An app of a file, in the format of the API but not validated yet. */
export interface WrittenApp {
  readonly name: string;
  /** Whether it is a service of a compose file, whose app gets the project in its name. */
  readonly isService?: boolean;
  /** How messages call it, such as `services.web`. */
  readonly path: string;
  readonly place: Place;
  /** All fields except `name` and `ports`. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly ports: readonly WrittenPort[];
  readonly dependsOn: readonly WrittenDependency[];
  /** The place of a field, by its path in the API's format, such as `["volumes", 0, "target"]`. */
  placeOf(path: readonly PropertyKey[]): Place;
}

/** The apps of a file. */
export interface WrittenGroup {
  readonly project: string;
  readonly apps: readonly WrittenApp[];
  /** Options of the request in the file, such as `urgent`. */
  readonly options: Readonly<Record<string, unknown>>;
}
