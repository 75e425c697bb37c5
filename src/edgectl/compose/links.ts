import { isService } from "./depends-on.ts";
import type { Converter } from "./service.ts";

/** `SERVICE` or `SERVICE:ALIAS`: on a device, apps on one network reach each other by name without it. */
export const convertLinks: Converter = (value, service, file) => {
  for (const item of value.items()) {
    const [app = "", alias = app] = item.text()?.split(":") ?? [];
    if (app === "" || !isService(app, item, file)) continue;
    if (alias !== app) {
      item.refuse(`has the name ${alias} for ${app}, which is not supported.`, `Have ${service.name} use ${app}.`);
    } else if (app !== service.name && !service.dependsOn.some((other) => other.app === app)) {
      service.dependsOn.push({ app, condition: "started", place: item.place });
    }
  }
};
