// The contract of HTTP, held by `fetch`.
import { webHttp } from '../../src/world/web-http.ts';
import { httpContract } from './http-contract.ts';

httpContract('HTTP by fetch', () => webHttp);
