import type { ReactNode } from "react";
import { Link } from "react-router";
import { Empty } from "../parts/empty.tsx";
import { PageTitle } from "../parts/page-title.tsx";

export function NotFoundPage(): ReactNode {
  return (
    <>
      <PageTitle title="No such page" />
      <Empty title="Nothing is at this address." action={<Link to="/overview">Go to the overview</Link>}>
        The link may be incomplete, or what it named was removed.
      </Empty>
    </>
  );
}
