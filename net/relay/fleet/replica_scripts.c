/* A relay's writes to rooms' copies (replica.h), as Lua that Redis runs alone. */
#include "net/relay/fleet/replica.h"

/* ARGV: room, id, relay, the number known here, seconds. Answers the copy's number; 0: not without an entry
 * of this relay, or over another fleet's; "": the room is another relay's. Of two that both have it, one has
 * stood still while Redis forgot all: the other one knows a higher number. */
static const char begin_script[] =
    "local rec = 'keylock:record:' .. ARGV[1]\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner', 'number', 'key')\n"
    "local text = redis.call('GET', 'keylock:relay:' .. ARGV[3])\n"
    "if not text then return 0 end\n"
    "local key = string.match(text, 'key=%S+')\n"
    "if have[4] and have[4] ~= key then return 0 end\n"
    "if have[1] == ARGV[2] and have[2] ~= ARGV[3] then\n"
    "  if tonumber(ARGV[4]) <= tonumber(have[3]) then return '' end\n"
    "else\n"
    "  for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do\n"
    "    local other = id ~= ARGV[3] and redis.call('GET', 'keylock:relay:' .. id)\n"
    "    if other and string.match(other, 'key=%S+') == key and\n"
    "       redis.call('HEXISTS', 'keylock:rooms:' .. id, ARGV[1]) == 1 then return '' end\n"
    "  end\n"
    "end\n"
    "local number = math.max(tonumber(have[3] or '0'), tonumber(ARGV[4])) + 1\n"
    "if have[1] ~= ARGV[2] then redis.call('HDEL', rec, 'copy') end\n"
    "redis.call('HSET', rec, 'id', ARGV[2], 'owner', ARGV[3], 'number', number, 'key', key)\n"
    "redis.call('EXPIRE', rec, ARGV[5])\n"
    "return number\n";

/* ARGV: room, id, relay, number, place in the recording, its bytes, place in the slot, its bytes, "1" if the
 * copy is whole then, seconds. Answers "ok"; "other": the room is another relay's; "gap". */
static const char write_script[] =
    "local rec = 'keylock:record:' .. ARGV[1]\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner', 'number', 'copy')\n"
    "if have[1] ~= ARGV[2] or have[2] ~= ARGV[3] or have[3] ~= ARGV[4] then return have[1] and 'other' or "
    "'gap' end\n"
    "local suffix = ARGV[2] .. ':' .. ARGV[4]\n"
    "local klr, tail = 'keylock:klr:' .. suffix, 'keylock:tail:' .. suffix\n"
    "if ARGV[6] ~= '' then\n"
    "  if redis.call('STRLEN', klr) ~= tonumber(ARGV[5]) then return 'gap' end\n"
    "  redis.call('APPEND', klr, ARGV[6])\n"
    "end\n"
    "if ARGV[8] ~= '' and ARGV[7] == '0' then redis.call('SET', tail, ARGV[8])\n"
    "elseif ARGV[8] ~= '' then\n"
    "  if redis.call('STRLEN', tail) ~= tonumber(ARGV[7]) then return 'gap' end\n"
    "  redis.call('APPEND', tail, ARGV[8])\n"
    "end\n"
    "if ARGV[9] == '1' and have[4] ~= ARGV[4] then\n"
    "  if have[4] then\n"
    "    redis.call('DEL', 'keylock:klr:' .. ARGV[2] .. ':' .. have[4], 'keylock:tail:' .. ARGV[2] .. ':' .. "
    "have[4])\n"
    "  end\n"
    "  redis.call('HSET', rec, 'copy', ARGV[4])\n"
    "end\n"
    "if ARGV[6] ~= '' or ARGV[7] == '0' then\n"
    "  for _, key in ipairs({rec, klr, tail}) do redis.call('EXPIRE', key, ARGV[10]) end\n"
    "end\n"
    "return 'ok'\n";

/* ARGV: room, id, relay, number. */
static const char end_script[] = "local rec = 'keylock:record:' .. ARGV[1]\n"
                                 "local have = redis.call('HMGET', rec, 'id', 'owner', 'copy')\n"
                                 "if have[1] ~= ARGV[2] or have[2] ~= ARGV[3] then return 'other' end\n"
                                 "for _, number in ipairs({ARGV[4], have[3] or ARGV[4]}) do\n"
                                 "  redis.call('DEL', 'keylock:klr:' .. ARGV[2] .. ':' .. number, "
                                 "'keylock:tail:' .. ARGV[2] .. ':' .. number)\n"
                                 "end\n"
                                 "redis.call('DEL', rec)\n"
                                 "return 'ok'\n";

/* ARGV: room, id, relay. Any relay may take the room then. */
static const char give_script[] =
    "local rec = 'keylock:record:' .. ARGV[1]\n"
    "local have = redis.call('HMGET', rec, 'id', 'owner')\n"
    "if have[1] == ARGV[2] and have[2] == ARGV[3] then redis.call('HSET', rec, 'owner', '') end\n"
    "return 'ok'\n";

const char *const kl_replica_script[KL_REPLICA_SCRIPTS] = {begin_script, write_script, end_script,
                                                           give_script};
