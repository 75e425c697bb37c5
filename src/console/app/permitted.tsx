import type { ReactNode } from "react";
import { usePermission } from "../api/session.ts";
import { Forbidden } from "../parts/forbidden.tsx";
import { PageTitle } from "../parts/page-title.tsx";

/** Shows the page to those who have the permission, and to others which one is missing. */
export function Permitted({
  permission,
  children,
}: {
  readonly permission: string;
  readonly children: ReactNode;
}): ReactNode {
  if (usePermission(permission)) return children;
  return (
    <>
      <PageTitle title="Not permitted" />
      <Forbidden permission={permission} />
    </>
  );
}
