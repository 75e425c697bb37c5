import { networkOf, networkOwner } from "../../protocol/apps/app-network.ts";
import type { WrittenGroup, WrittenApp } from "./written-group.ts";

/** An app of the device, as far as its name depends on it. */
export interface InstalledName {
  readonly name: string;
  readonly project: string | undefined;
}

/**
 * Names the apps of services `PROJECT.SERVICE`: two projects of a device may have a service of the same name. On the networks
 * of its project a service is found by its own name too, as in compose. An app of the project that is installed under the
 * service's name keeps it.
 */
export function nameApps(written: WrittenGroup, installed: readonly InstalledName[] = []): WrittenGroup {
  const { project, apps } = written;
  const isInstalled = (service: string): boolean =>
    installed.some((other) => other.name === service && other.project === project);
  const services = apps.filter(({ isService, name }) => isService && !isInstalled(name));
  const names = new Map(services.map(({ name }) => [name, `${project}.${name}`]));
  const nameOf = (app: string): string => names.get(app) ?? app;
  return {
    ...written,
    apps: apps.map((app) => renamed(app, nameOf)),
  };
}

function renamed(app: WrittenApp, nameOf: (app: string) => string): WrittenApp {
  const name = nameOf(app.name);
  return {
    ...app,
    name,
    fields: withNetwork(name === app.name ? app.fields : withAlias(app.fields, app.name), nameOf),
    dependsOn: app.dependsOn.map(({ app: other, condition, place }) => ({ app: nameOf(other), condition, place })),
  };
}

type Fields = WrittenApp["fields"];

/** An app without networks of its own has no names there. */
function withAlias(fields: Fields, service: string): Fields {
  if (!fields["networks"]) return fields;
  const { aliases = [] } = fields as { readonly aliases?: readonly string[] };
  return { ...fields, aliases: [service, ...aliases] };
}

/** The app whose network it has is another one of the file. */
function withNetwork(fields: Fields, nameOf: (app: string) => string): Fields {
  const { network } = fields;
  const owner = typeof network === "string" ? networkOwner({ network }) : undefined;
  return owner === undefined ? fields : { ...fields, network: networkOf(nameOf(owner)) };
}

/** Returns the name of the service that an app was made of, and the app's own where it was made of none. */
export function serviceOf(project: string, app: string): string {
  return app.startsWith(`${project}.`) ? app.slice(project.length + 1) : app;
}
