/**
 * HTTP for a command that was given one server: when that server is a standby and names the leader, this request and the
 * next ones go to the leader, until it fails. The token is sent along, because the server that names the leader was
 * trusted with it; but never from https to http.
 */
import type { Http, HttpReply, HttpRequest } from '../seams/http.ts';

export function leaderFollowing(http: Http, url: string): Http {
  const named = addressIn(url);
  let leader: Address | null = null;
  const to = (request: HttpRequest): HttpRequest => {
    if (leader === null || named === null) return request;
    return {
      ...request,
      origin: leader.origin,
      path: leader.prefix + request.path.slice(named.prefix.length),
    };
  };
  /** A standby decides nothing, so the request may be sent again. */
  const follow = async <Reply extends Pick<HttpReply, 'status' | 'header'>>(
    request: HttpRequest,
    send: (request: HttpRequest) => Promise<Reply>,
  ): Promise<Reply> => {
    const asked = leader ?? named;
    try {
      const reply = await send(to(request));
      if (reply.status !== 503 || named === null) return reply;
      leader = addressIn(reply.header('leasehold-leader'));
      if (leader !== null && isWorse(named, leader)) leader = null;
      if (leader === null || leader.origin === asked?.origin) return reply;
      return await send(to(request));
    } catch (fault) {
      // The server on the command line knows who leads next.
      leader = null;
      throw fault;
    }
  };
  return {
    send: (request) => follow(request, (each) => http.send(each)),
    stream: (request) => follow(request, (each) => http.stream(each)),
    close: () => http.close(),
  };
}

interface Address {
  readonly origin: string;
  readonly prefix: string;
}

function addressIn(text: string | null): Address | null {
  if (text === null || !URL.canParse(text)) return null;
  const { protocol, origin, pathname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return null;
  return { origin, prefix: pathname.replace(/\/+$/, '') };
}

function isWorse(named: Address, leader: Address): boolean {
  return named.origin.startsWith('https:') && !leader.origin.startsWith('https:');
}
