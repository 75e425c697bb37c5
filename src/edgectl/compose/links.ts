import { isService } from "./depends-on.ts";
import type { Converter } from "./service.ts";

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
