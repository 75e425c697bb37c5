import type { Value } from "../documents/value.ts";
import type { WrittenDependency } from "../group/written-group.ts";
import { refuseUnknown } from "./unknown.ts";
import type { ComposeFile, Converter, ServiceDraft } from "./service.ts";

const CONDITIONS: Readonly<Record<string, WrittenDependency["condition"]>> = {
  service_started: "started",
  service_healthy: "healthy",
  service_completed_successfully: "completed",
};

export const convertDependsOn: Converter = (value, service, file) => {
  if (value.isList) {
    for (const item of value.items()) {
      const name = item.text();
      if (name !== undefined) add(name, "started", item, service, file);
    }
    return;
  }
  for (const [name, item] of value.fields()) {
    const fields = item.fields();
    refuseUnknown(fields, ["condition", "required", "restart"]);
    const condition = conditionOf(fields.get("condition"));
    const isRequired = fields.get("required")?.boolean() ?? true;
    if (fields.get("restart")?.boolean() && !followsNetwork(service, name, file)) {
      fields
        .get("restart")
        ?.refuse(
          "is not supported: an update of an app leaves the others running.",
          `Remove it, and restart this service after updates of ${name} if it does not connect again by itself.`,
        );
    }
    if (!isRequired && !file.services.has(name)) item.note("is not applied, and not required.");
    else if (condition !== undefined) add(name, condition, item, service, file);
  }
};

/** Whether a service has another one's network, and its container is made anew by the agent where that one's is. */
function followsNetwork({ value }: ServiceDraft, owner: string, file: ComposeFile): boolean {
  const fields = value.fields();
  const restart = fields.get("restart");
  const mode = fields.get("network_mode");
  if (!restart?.isText || restart.text() === "no" || !mode?.isText) return false;
  return networkOwner(mode.text() ?? "", file) === owner;
}

/** The service whose network is meant by `service:NAME`, or by `container:NAME` with its `container_name`. */
export function networkOwner(mode: string, file: ComposeFile): string | undefined {
  const [kind, name = ""] = mode.split(/:(.*)/s);
  return kind === "service" ? name : file.containers.get(name);
}

function conditionOf(value: Value | undefined): WrittenDependency["condition"] | undefined {
  const text = value ? value.text() : "service_started";
  if (text === undefined) return undefined;
  const condition = Object.hasOwn(CONDITIONS, text) ? CONDITIONS[text] : undefined;
  if (condition !== undefined) return condition;
  return value?.refuse("must be service_started, service_healthy or service_completed_successfully.");
}

function add(
  app: string,
  condition: WrittenDependency["condition"],
  value: Value,
  service: ServiceDraft,
  file: ComposeFile,
): void {
  if (!isService(app, value, file)) return;
  if (app === service.name) value.refuse("names the service itself.");
  else {
    // `links` may have named it before.
    const at = service.dependsOn.findIndex((other) => other.app === app);
    service.dependsOn.splice(at === -1 ? service.dependsOn.length : at, at === -1 ? 0 : 1, {
      app,
      condition,
      place: value.place,
    });
  }
}

/** Whether a service is applied. Adds a problem if it is not. */
export function isService(name: string, value: Value, { services, inactive }: ComposeFile): boolean {
  const profiles = inactive.get(name);
  if (profiles) {
    const advice = `Choose it with --profile ${profiles[0] ?? ""}.`;
    value.refuse(`names the service ${name}, which is in the profile ${profiles.join(", ")}.`, advice);
  } else if (!services.has(name)) value.refuse(`names the service ${name}, which is not in this file.`);
  return services.has(name);
}

/** `SERVICE` or `SERVICE:ALIAS`: on a device, apps on one network reach each other by name without it. */
export const convertLinks: Converter = (value, service, file) => {
  for (const item of value.items()) {
    const [app = "", alias = app] = item.text()?.split(":") ?? [];
    if (app === "" || !isService(app, item, file)) continue;
    file.names.add(app, alias, item.place);
    if (app !== service.name && !service.dependsOn.some((other) => other.app === app)) {
      service.dependsOn.push({ app, condition: "started", place: item.place });
    }
  }
};
