import type { Place } from "../documents/node.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import type { Problems } from "../documents/problems.ts";
import type { Value } from "../documents/value.ts";
import type { WrittenDependency, WrittenPort } from "../group/written-group.ts";
import type { Definitions } from "./definitions.ts";
import type { Lookup } from "./interpolate.ts";
import type { AskedAddress } from "./networks.ts";

/** The parts of a compose file that its services refer to. */
export interface ComposeFile {
  readonly project: string;
  readonly services: ReadonlySet<string>;
  /** The profiles of the services that are in none of the chosen ones. */
  readonly inactive: ReadonlyMap<string, readonly string[]>;
  readonly networks: Definitions;
  readonly volumes: Definitions;
  readonly configs: Definitions;
  readonly secrets: Definitions;
  /** The variables of the shell and of `.env`. */
  readonly lookup: Lookup;
  readonly local: LocalFiles;
  /** Where the images of services are that are built and have no name. */
  readonly buildRegistry: string | undefined;
  readonly problemsOf: (fileName: string) => Problems;
  /** The services with a `container_name`, by that. */
  readonly containers: ReadonlyMap<string, string>;
  /** Further names of services on their networks, by service; `links` gives them to others. */
  readonly names: FurtherNames;
  /** The addresses that services ask for. */
  readonly addresses: AskedAddress[];
}

/** Collects names of services beside their own. */
export class FurtherNames {
  readonly #names = new Map<string, Map<string, Place>>();

  add(service: string, name: string, place: Place): void {
    if (name.toLowerCase() === service.toLowerCase()) return;
    const names = this.#names.get(service) ?? new Map<string, Place>();
    this.#names.set(service, names);
    if (![...names.keys()].some((other) => other.toLowerCase() === name.toLowerCase())) names.set(name, place);
  }

  /** The names of a service, with the places that give them. */
  of(service: string): ReadonlyMap<string, Place> {
    return this.#names.get(service) ?? new Map();
  }
}

/** A variable of a service. */
interface DraftVariable {
  readonly value: string;
  /** The variables that were put into the value, by name. */
  readonly inserted: ReadonlyMap<string, string>;
  readonly place: Place;
}

/** An app in the making. Converters of the service's keys fill it in. */
export class ServiceDraft {
  readonly name: string;
  readonly value: Value;
  readonly ports: WrittenPort[] = [];
  readonly dependsOn: WrittenDependency[] = [];
  /** From `env_file`, in order; `environment` takes precedence. */
  readonly fileVariables = new Map<string, DraftVariable>();
  readonly variables = new Map<string, DraftVariable>();
  /** Names of the variables that are secrets. */
  readonly secretVariables = new Map<string, Place>();
  readonly #fields = new Map<string, unknown>();
  readonly #places = new Map<string, Place>();

  constructor(name: string, value: Value) {
    this.name = name;
    this.value = value;
  }

  get fields(): Record<string, unknown> {
    return Object.fromEntries(this.#fields);
  }

  has(field: string): boolean {
    return this.#fields.has(field);
  }

  /** Sets a field. `undefined` is not set: its problem was added. */
  set(field: string, value: unknown, place: Place): void {
    if (value === undefined) return;
    this.#fields.set(field, value);
    this.#places.set(field, place);
  }

  /** Takes a field back. */
  unset(field: string): void {
    this.#fields.delete(field);
    this.#places.delete(field);
  }

  /** Appends an entry to a field that is a list. */
  append(field: string, entry: unknown, place: Place): void {
    if (entry === undefined) return;
    const list = (this.#fields.get(field) ?? []) as unknown[];
    this.#fields.set(field, [...list, entry]);
    this.#places.set(`${field}.${list.length}`, place);
    if (!this.#places.has(field)) this.#places.set(field, place);
  }

  /** Number of entries of a list. */
  lengthOf(field: string): number {
    return ((this.#fields.get(field) ?? []) as unknown[]).length;
  }

  placeOf(path: readonly PropertyKey[]): Place {
    const [field, index] = path;
    return this.#places.get(`${String(field)}.${String(index)}`) ?? this.#places.get(String(field)) ?? this.value.place;
  }
}

/** Converts the value of one key of a service. */
export type Converter = (value: Value, service: ServiceDraft, file: ComposeFile) => void;
